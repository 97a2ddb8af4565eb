-- Register living entries that are not registered yet.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    name (4 bytes), life (4 bytes), and 9 bytes: flags and registration
--
-- Flags: 1 the registration is a ticket, 2 it is the original's entry, 4 the entry is dead. The form of a record is in
-- add_entries.lua.
--
-- Returns per item: '' where the entry is dead or gone; what follows the registration in its record, where that is as
-- wanted; else {flags and registration, what follows}.

-- What to return for a record, and the record as it is registered now, if it was not before.
local function registered(record, wanted)
  local flags, rest = byte(record, 17), sub(record, 26)
  if flags == 0 then return rest, sub(record, 1, 16) .. wanted .. rest end
  if flags >= 4 then return '' end
  local registration = sub(record, 17, 25)
  return registration == wanted and rest or {registration, rest}
end

local names, lives, wanted, n = {}, {}, {}, 0
while more() do
  n = n + 1
  names[n], lives[n], wanted[n], at = unpacked('c4c4c9', items, at)
end
local found, where = lookup('r', names)
local taken, written = {}, {}
for i = 1, n do
  local record = found[i]
  if record and not where[i] and not taken[names[i]] and sub(record, 13, 16) == lives[i] then
    taken[names[i]] = true
    local after
    results[i], after = registered(record, wanted[i])
    if after then
      written[#written + 1] = names[i]
      written[#written + 1] = after
    end
  end
end
hset(prefix .. current .. 'r', written)
for i = 1, n do
  if not results[i] then -- of an older generation, beside others of its name, or not for the first time here
    results[i] = ''
    for g = 1, #generations do
      local key = prefix .. sub(generations, g, g) .. 'r'
      local place, slot = names[i], 0
      local record = results[i] == '' and redis.call('HGET', key, place)
      while record do
        if sub(record, 13, 16) == lives[i] then
          local after
          results[i], after = registered(record, wanted[i])
          if after then redis.call('HSET', key, place, after) end
          break
        end
        slot = slot + 1
        place = names[i] .. string.char(slot)
        record = redis.call('HGET', key, place)
      end
    end
  end
end
return results
