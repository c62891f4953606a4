-- Lists what sessions hold, a page at a time. ARGV: a cursor, "0" at first, and ids; the KEYS from HELD
-- on are theirs. Returns how many of the ids are done, the cursor in the next one, and for each lease
-- the name followed by its holder.
local cursor, list, done = ARGV[1], {}, 0
for i = 2, #ARGV do
  local id, held = ARGV[i], KEYS[i + 6]
  local rest = left(id)
  local _, label = about(id)
  repeat
    if not rest then
      cursor = '0'
    else
      local page = redis.call('HSCAN', held, cursor, 'COUNT', 250)
      cursor = page[1]
      local names = {}
      for j = 1, #page[2], 2 do table.insert(names, page[2][j]) end
      local records = #names > 0 and redis.call('HMGET', NAMES, unpack(names)) or {}
      for j, record in ipairs(records) do
        local token = page[2][2 * j]
        if record == token .. ' ' .. id then
          table.insert(list, names[j])
          table.insert(list, {id, tonumber(token), rest, label or ''})
        end
      end
    end
  until cursor == '0' or #list >= 1000
  if cursor ~= '0' then break end
  done = done + 1
  if #list >= 1000 then break end
end
return {done, cursor, list}
