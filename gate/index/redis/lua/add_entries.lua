-- Write entries for contents that have none.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    name (4 bytes of the content), and the record
--
-- A record is
--     content 12 | life 4 | flags 1 | registration 8 | body length 2 | body | holders
-- and contents that share a name are in the fields name, name .. '\1', name .. '\2' and so on, without a gap.
--
-- Returns per item: '' if it was written, else {generation, field, record} of the entry that the content has.

-- The field and the record of a content, or the first free field; nil if another content has its life.
local function find(key, name, wanted)
  local place, slot = name, 0
  while true do
    local record = redis.call('HGET', key, place)
    if not record or sub(record, 1, 12) == sub(wanted, 1, 12) then return place, record end
    if sub(record, 13, 16) == sub(wanted, 13, 16) then return nil end
    slot = slot + 1
    place = name .. string.char(slot)
  end
end

local names, records, n = {}, {}, 0
while more() do
  n = n + 1
  names[n], records[n], at = unpacked('<c4I3c0', items, at)
end
local found, taken, written = lookup('r', names), {}, {}
for i = 1, n do
  if found[i] or taken[names[i]] then
    found[i] = true
  else
    taken[names[i]] = true
    written[#written + 1] = names[i]
    written[#written + 1] = records[i]
    results[i] = ''
  end
end
hset(prefix .. current .. 'r', written)
for i = 1, n do
  if found[i] then
    results[i] = ''
    for g = #generations, 1, -1 do
      local generation = sub(generations, g, g)
      local key = prefix .. generation .. 'r'
      local place, record = find(key, names[i], records[i])
      if not place then return nil, 'ENTRY in use' end
      if record then
        results[i] = {generation, place, record}
        break
      end
      if g == 1 then redis.call('HSET', key, place, records[i]) end
    end
  end
end
return results
