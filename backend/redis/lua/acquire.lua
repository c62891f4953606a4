-- Tries to take names for a session, each by itself or all or none. ARGV: the session's id, 1 for all
-- or none, the names. Returns false if the session is dead, and otherwise for each name the token
-- if it was won, its holder if it is somebody's, and false if it is free and was not taken.
local id, all = ARGV[1], ARGV[2] == '1'
local lease = living(id)
if not lease then return false end
if #ARGV == 2 then return {} end

local outcomes, vacant, lost, found = {}, {}, false, false
for i, record in ipairs(redis.call('HMGET', NAMES, unpack(ARGV, 3))) do
  local name, token, owner = ARGV[i + 2], parse(record)
  if owner == id then
    outcomes[i] = token
    -- Missing only if somebody has deleted it by hand.
    found = redis.call('HSETNX', HELD, name, digits(token)) == 1 or found
  else
    outcomes[i] = holder(record)
    lost = lost or outcomes[i]
    if not outcomes[i] then table.insert(vacant, {i, name, token}) end
  end
end

if #vacant > 0 and not (all and lost) and withheld(lease) <= 0 then
  local records, held = {}, {}
  for _, v in ipairs(vacant) do
    local i, name, last = unpack(v)
    -- Above the last one, also if that was lost with the server's data.
    local token = math.max(last + 1, now)
    if token > 9007199254740991 then
      error('the next token of ' .. name .. ' would be ' .. digits(token) .. ', and 2^53-1 is the greatest')
    end
    outcomes[i] = token
    table.insert(records, name)
    table.insert(records, digits(token) .. ' ' .. id)
    table.insert(held, name)
    table.insert(held, digits(token))
  end
  redis.call('HSET', NAMES, unpack(records))
  redis.call('HSET', HELD, unpack(held))
  found = true
end
if found then redis.call('HINCRBY', REVISIONS, id, 1) end
return outcomes
