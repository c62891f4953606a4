-- Tries to take names for a session, each by itself or all or none. ARGV: the session's id, 1 for all
-- or none, the names. Returns false if the session is dead, and otherwise for each name the token
-- if it was won, its holder if it is somebody's, and false if it is free and was not taken.
local id, all = ARGV[1], ARGV[2] == '1'
local lease = living(id)
if not lease then return false end
if #ARGV == 2 then return {} end

-- Whoever asks for a name does not believe to have it. What it was granted before this server took over may be
-- an old record, since when somebody else got the name. So it gets a new token, when it can be had.
local wait
local function current(token)
  wait = wait or withheld(lease)
  return token >= now + wait
end

local outcomes, vacant, last, lost, changed = {}, {}, {}, false, false
for i, record in ipairs(redis.call('HMGET', NAMES, unpack(ARGV, 3))) do
  local token, owner = parse(record)
  if owner == id and current(token) then
    outcomes[i] = token
    -- Written again in any case, for WAIT. Missing only if somebody has deleted it by hand.
    changed = redis.call('HSET', HELD, ARGV[i + 2], digits(token)) == 1 or changed
  else
    outcomes[i] = owner ~= id and holder(token, owner)
    if outcomes[i] then
      lost = true
    else
      vacant[#vacant + 1] = i
      last[#vacant] = token
    end
  end
end

if #vacant > 0 and not (all and lost) and (wait or withheld(lease)) <= 0 then
  local records, held = {}, {}
  for n, i in ipairs(vacant) do
    local name = ARGV[i + 2]
    -- Above the last one, also if that was lost with the server's data.
    local token = math.max(last[n] + 1, now)
    local text = digits(token)
    if token > 9007199254740991 then
      error('the next token of ' .. name .. ' would be ' .. text .. ', and 2^53-1 is the greatest')
    end
    outcomes[i] = token
    records[2 * n - 1], records[2 * n] = name, text .. ' ' .. id
    held[2 * n - 1], held[2 * n] = name, text
  end
  redis.call('HSET', NAMES, unpack(records))
  redis.call('HSET', HELD, unpack(held))
  changed = true
end
if changed then redis.call('HINCRBY', REVISIONS, id, 1) end
return outcomes
