-- Frees names that the session owns with just these tokens, and tells those who wait for them. ARGV:
-- the session's id, the prefix of channels, and names and tokens in turn. Returns how many were freed.
local id, prefix = ARGV[1], ARGV[2]
if not living(id) then return 0 end
local names = {}
for i = 3, #ARGV, 2 do table.insert(names, ARGV[i]) end
if #names == 0 then return 0 end

local records, freed = {}, {}
for i, record in ipairs(redis.call('HMGET', NAMES, unpack(names))) do
  local token = ARGV[2 + 2 * i]
  if record == token .. ' ' .. id then
    table.insert(freed, names[i])
    table.insert(records, names[i])
    table.insert(records, token) -- which is kept for good
  end
end
if #freed == 0 then return 0 end
redis.call('HSET', NAMES, unpack(records))
redis.call('HDEL', HELD, unpack(freed))
redis.call('HINCRBY', REVISIONS, id, 1)
-- Last, and allowed to fail: what is written above stays written.
for _, name in ipairs(freed) do redis.pcall('PUBLISH', prefix .. name, '') end
return #freed
