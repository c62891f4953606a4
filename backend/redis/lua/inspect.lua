-- Says who owns names. ARGV: the names. Returns for how long nothing is granted, and for each name its
-- holder, or false.
local wait = (redis.call('HGET', META, 'until') or 0) - now
local holders = {}
for i, record in ipairs(redis.call('HMGET', NAMES, unpack(ARGV))) do holders[i] = holder(parse(record)) end
return {wait, holders}
