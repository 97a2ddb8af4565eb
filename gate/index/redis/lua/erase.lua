-- Remove dead entries, and close the gap among the contents that share their name.
--
-- ARGV[3]  chunks
-- items    page, name, life
--
-- Returns per item: 1 if it was removed, 0 if it was not there or is alive.
local chunks = tonumber(ARGV[3])

local function drop(key, place)
  local names = {place}
  for n = 1, chunks do names[#names + 1] = place .. 'b' .. n end
  redis.call('HDEL', key, unpack(names))
end

while more() do
  local page, name, life, removed = 'r' .. field(), field(), field(), 0
  for g = 1, #generations do
    local key = p .. string.sub(generations, g, g) .. page
    local places, place, target = {}, name, nil
    local record = redis.call('HGET', key, place)
    while record do
      if string.sub(record, 13, 16) == life and string.byte(record, 17) >= 4 then target = place end
      places[#places + 1] = place
      place = name .. string.char(#places)
      record = redis.call('HGET', key, place)
    end
    if target then
      local last = places[#places]
      if last ~= target then
        -- Written before anything is dropped: where memory ends, nothing is lost.
        local moved = {target, redis.call('HGET', key, last)}
        for n = 1, chunks do
          moved[#moved + 1] = target .. 'b' .. n
          moved[#moved + 1] = redis.call('HGET', key, last .. 'b' .. n) or ''
        end
        redis.call('HSET', key, unpack(moved))
      end
      drop(key, last)
      removed = 1
    end
  end
  answer[#answer + 1] = removed
end
return answer
