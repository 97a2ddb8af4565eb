-- Find entries, by their content or by their life.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    name (4 bytes), and 12 bytes of a content or 4 bytes of a life
--
-- The form of a record is in add_entries.lua.
--
-- Returns per item: '' if there is none, else {generation, field, record}.
local function is(record, wanted)
  if #wanted == 4 then return sub(record, 13, 16) == wanted end
  return sub(record, 1, 12) == wanted
end

-- Among those that share a name.
local function search(name, wanted)
  for g = 1, #generations do
    local generation = sub(generations, g, g)
    local place, slot = name, 0
    local record = redis.call('HGET', prefix .. generation .. 'r', place)
    while record do
      if is(record, wanted) then return {generation, place, record} end
      slot = slot + 1
      place = name .. string.char(slot)
      record = redis.call('HGET', prefix .. generation .. 'r', place)
    end
  end
  return ''
end

local names, wanted, n = {}, {}, 0
while more() do
  n = n + 1
  names[n], wanted[n], at = unpacked('<c4I3c0', items, at)
end
local found, where = lookup('r', names)
for i = 1, n do
  if not found[i] then
    results[i] = ''
  elseif is(found[i], wanted[i]) then
    results[i] = {where[i] or current, names[i], found[i]}
  else
    results[i] = search(names[i], wanted[i])
  end
end
return results
