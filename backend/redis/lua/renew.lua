-- Lets a session live for its lease from now on. ARGV: its id, the revision that it knows, and 1 if
-- it wants the list anyway. Returns the lease, the revision and, unless that is known, the list of
-- names and tokens; false if the session is dead.
local id, known, full = ARGV[1], ARGV[2], ARGV[3] == '1'
local lease = living(id)
if not lease then return false end
withheld(lease) -- to notice a new server as soon as possible
redis.call('ZADD', SESSIONS, digits(now + lease), id)
local revision = redis.call('HGET', REVISIONS, id) or redis.call('HINCRBY', REVISIONS, id, 1)
if not full and known == tostring(revision) then return {lease, revision} end

-- What counts is the record of the name. If somebody has changed that by hand, HELD follows.
local held, owner = redis.call('HGETALL', HELD), ' ' .. id
local list, last, stray = {}, 0, {}
for from = 1, #held, 2000 do
  local names, n = {}, 0
  for i = from, math.min(from + 1998, #held), 2 do
    n = n + 1
    names[n] = held[i]
  end
  for i, record in ipairs(redis.call('HMGET', NAMES, unpack(names))) do
    local token = held[from + 2 * i - 1]
    if record == token .. owner then
      list[last + 1], list[last + 2] = names[i], token
      last = last + 2
    else
      stray[#stray + 1] = names[i]
    end
  end
end
for _, name in ipairs(stray) do redis.call('HDEL', HELD, name) end
if #stray > 0 then revision = redis.call('HINCRBY', REVISIONS, id, 1) end
return {lease, revision, list}
