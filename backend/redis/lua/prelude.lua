-- What the scripts share; it comes before each of them. A script is one atomic step, and looks at
-- the clock once.
--
-- A session is alive if it is in SESSIONS with a deadline ahead. Whoever finds the deadline passed
-- removes it before anything else, so that its death does not depend on what the clock says later.
-- A lease is good if and only if its record in NAMES has an owner who is alive.
local SESSIONS  = KEYS[1] -- sorted set: id, deadline in microseconds since 1970
local ABOUT     = KEYS[2] -- hash: id, "LEASE LABEL", the lease in microseconds
local REVISIONS = KEYS[3] -- hash: id, a number that changes with what the session holds
local NAMES     = KEYS[4] -- hash: name, "TOKEN" of the last owner, or "TOKEN ID" of the present one
local DEAD      = KEYS[5] -- set: ids of sessions that have ended and whose HELD is still there
local META      = KEYS[6] -- hash: format, run of the server, until when nothing is granted
local NOTES     = KEYS[7] -- hash: name, "VERSION TEXT", which an owner leaves to the next
local HELD      = KEYS[8] -- hash: name, token; what one session holds, to be found by the session

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Numbers become text here and nowhere else: as they are, Lua rounds them to 14 digits.
local function digits(n) return string.format('%.0f', n) end

-- bury ends a session for good.
local function bury(id)
  redis.call('ZREM', SESSIONS, id)
  redis.call('HDEL', ABOUT, id)
  redis.call('HDEL', REVISIONS, id)
  redis.call('SADD', DEAD, id)
end

-- left returns for how long a session lives unless it is renewed, or nothing if it is dead.
local function left(id)
  local deadline = redis.call('ZSCORE', SESSIONS, id)
  if not deadline then return nil end
  if deadline - now > 0 then return deadline - now end
  bury(id)
end

-- about returns a session's lease and label; nothing if somebody has deleted them.
local function about(id)
  local lease, label = string.match(redis.call('HGET', ABOUT, id) or '', '^(%d+) (.*)$')
  return tonumber(lease), label
end

-- living returns the lease of the session that asks, or nothing if it is dead.
local function living(id)
  if not left(id) then return nil end
  local lease = about(id)
  if not lease then bury(id) end
  return lease
end

-- parse takes the record of a name apart: the last token, and the owner if there is one.
local function parse(record)
  if not record then return 0, '' end
  local token, owner = string.match(record, '^(%d+) ?(.*)$')
  if not token then error('the record of a name is "' .. record .. '" in place of a token and a session') end
  return tonumber(token), owner
end

-- holder returns the owner of a name, by what its record says, for people: the session, the token, for how long it
-- lives and its label; false if that is nobody, or dead.
local owners = {[''] = {false}} -- that were looked up
local function holder(token, id)
  local owner = owners[id]
  if not owner then
    local _, label = about(id)
    owner = {left(id) or false, label or ''}
    owners[id] = owner
  end
  return owner[1] and {id, token, owner[1], owner[2]}
end

-- field finds a line of INFO; a pattern would take ten times as long.
local function field(info, name)
  local _, colon = string.find(info, '\n' .. name .. ':', 1, true)
  return colon and string.match(info, '^[^\r\n]*', colon + 1) or ''
end

-- withheld returns for how long nothing may be granted; zero or less if that is over.
--
-- A server that was restarted, or took over from another, may lack what was written last: sessions,
-- renewals, leases. Their owners believe in them for one lease at most. So one lease long it grants
-- nothing. Each server process has an id of its own, and each time that it becomes the master a new one
-- for replication: by both it notices.
local function withheld(lease)
  local info = redis.call('INFO', 'server')
  local replication = redis.call('INFO', 'replication')
  local run = field(info, 'run_id') .. ' ' .. field(replication, 'master_replid')
  local before = redis.call('HMGET', META, 'run', 'until')
  if before[1] == run then return (before[2] or 0) - now end
  local wait = lease
  if before[1] then
    for _, entry in ipairs(redis.call('HVALS', ABOUT)) do
      wait = math.max(wait, tonumber(string.match(entry, '^%d+')) or 0)
    end
  elseif field(replication, 'second_repl_offset') == '-1' then
    -- The namespace is new, or lost with everything. Whoever believes in something that this process
    -- does not know has heard of it before the process began, which was never a replica. The uptime is a
    -- difference of two times that were rounded down, so it may be almost a second too much.
    wait = wait - 1000000 * math.max(0, (tonumber(field(info, 'uptime_in_seconds')) or 0) - 1)
  end
  redis.call('HSET', META, 'run', run, 'until', digits(now + wait))
  return wait
end

