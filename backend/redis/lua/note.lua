-- Replaces the note of a name by a newer one, if the session owns the name with just this token. ARGV: the
-- session's id, the name, the token, the version of the note, 0 for none, and its text. Returns the version
-- and the text that are kept then; nothing if the lease is not the session's; false if that is dead.
local id, name, token, version, text = unpack(ARGV)
if not living(id) then return false end
if redis.call('HGET', NAMES, name) ~= token .. ' ' .. id then return {} end
local kept, was = string.match(redis.call('HGET', NOTES, name) or '0 ', '^(%d+) (.*)$')
if not kept then error('the note of ' .. name .. ' has no version') end
if tonumber(version) > tonumber(kept) then kept, was = version, text end
-- Also what is kept already, by a call that was not confirmed: WAIT speaks of what its connection wrote.
if version ~= '0' then redis.call('HSET', NOTES, name, kept .. ' ' .. was) end
return {kept, was}
