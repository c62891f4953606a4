-- Ends a session, by which all of its leases are free. The rest is to tell those who wait for them,
-- and to clear away: a page at a time, because that takes long if the leases are many, and nothing else
-- runs on the server meanwhile. ARGV: the session's id, the cursor ("0" at first), the prefix of
-- channels. Returns the next cursor, "0" at the end.
local id, cursor, prefix = ARGV[1], ARGV[2], ARGV[3]
bury(id)
local page = redis.call('HSCAN', HELD, cursor, 'COUNT', 100)
for i = 1, #page[2], 2 do redis.pcall('PUBLISH', prefix .. page[2][i], '') end
if page[1] == '0' then
  redis.call('UNLINK', HELD)
  redis.call('SREM', DEAD, id)
end
return page[1]
