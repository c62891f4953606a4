-- Tries each command that the others need, so that what a user may not do comes to light at once.
-- ARGV: the format, the prefix of channels. Returns the server's description, the format that is
-- found, and what was refused.
local refused = {}
for _, command in ipairs({
  {'INFO', 'server'}, {'HSETNX', META, 'format', ARGV[1]}, {'HGET', META, 'format'}, {'ZADD', SESSIONS, 'XX', 0, ''}, {'ZREM', SESSIONS, ''}, {'ZSCORE', SESSIONS, ''},
  {'ZRANGE', SESSIONS, 0, 0}, {'ZRANGEBYSCORE', SESSIONS, 0, 0},
  {'HSET', META, 'checked', digits(now)}, {'HMGET', META, 'run'}, {'HVALS', ABOUT},
  {'HDEL', NAMES, ''}, {'HINCRBY', META, 'checks', 1}, {'HGETALL', HELD}, {'HSCAN', HELD, 0},
  {'SADD', DEAD, ''}, {'SRANDMEMBER', DEAD, 1}, {'SREM', DEAD, ''},
  {'UNLINK', HELD}, {'PUBLISH', ARGV[2], ''},
}) do
  local answer = redis.pcall(unpack(command))
  if type(answer) == 'table' and answer.err then
    table.insert(refused, command[1] .. ' ' .. command[2] .. ': ' .. answer.err)
  end
end
if #refused > 0 then return {'', '', refused} end
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'memory')
return {info, redis.call('HGET', META, 'format'), refused}
