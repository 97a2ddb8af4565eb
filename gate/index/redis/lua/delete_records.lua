-- Delete the records of dead entries, and close the gap among the contents that share their name.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    name (4 bytes), life (4 bytes)
--
-- Returns per item: 1 if it was deleted, 0 if it was not there or is alive.
while more() do
  local name, life, removed
  name, life, at = unpacked('c4c4', items, at)
  removed = 0
  for g = 1, #generations do
    local key = prefix .. sub(generations, g, g) .. 'r'
    local places, place, target = {}, name, nil
    local record = redis.call('HGET', key, place)
    while record do
      if sub(record, 13, 16) == life and byte(record, 17) >= 4 then target = place end
      places[#places + 1] = place
      place = name .. string.char(#places)
      record = redis.call('HGET', key, place)
    end
    if target then
      local last = places[#places]
      -- Written before anything is dropped: where memory ends, nothing is lost.
      if last ~= target then redis.call('HSET', key, target, redis.call('HGET', key, last)) end
      redis.call('HDEL', key, last)
      removed = 1
    end
  end
  results[#results + 1] = removed
end
return results
