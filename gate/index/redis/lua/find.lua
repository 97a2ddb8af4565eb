-- Find entries, by their content or by their life.
--
-- items    name (4 bytes), and 12 bytes of a content or 4 bytes of a life
--
-- The form of a record is told in enter.lua.
--
-- Returns per item: '' if there is none, else {generation, field, record}.
while more() do
  local name, wanted
  name, wanted, at = unpacked('<c4I3c0', items, at)
  local from, to, reply = 1, 12, ''
  if #wanted == 4 then from, to = 13, 16 end
  for g = 1, #generations do
    local generation = sub(generations, g, g)
    local place, slot = name, 0
    local record = reply == '' and redis.call('HGET', p .. generation .. 'r', place)
    while record do
      if sub(record, from, to) == wanted then
        reply = {generation, place, record}
        break
      end
      slot = slot + 1
      place = name .. string.char(slot)
      record = redis.call('HGET', p .. generation .. 'r', place)
    end
  end
  answer[#answer + 1] = reply
end
return answer
