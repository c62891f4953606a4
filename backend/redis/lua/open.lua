-- Begins a session. ARGV: its new id, its lease in microseconds, its label. Returns some sessions
-- that have ended and whose HELD should be cleared away, by close.
local id, lease, label = ARGV[1], tonumber(ARGV[2]), ARGV[3]
withheld(lease) -- to notice a new server as soon as possible
-- Those who have died unnoticed, a few each time: so they do not become more and more.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', SESSIONS, '-inf', digits(now), 'LIMIT', 0, 16)) do
  bury(gone)
end
redis.call('ZADD', SESSIONS, digits(now + lease), id)
redis.call('HSET', ABOUT, id, digits(lease) .. ' ' .. label)
redis.call('HSET', REVISIONS, id, 1)
return redis.call('SRANDMEMBER', DEAD, 8)
