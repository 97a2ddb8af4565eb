-- Write document records that are not there.
--
-- items    page, document id, record
--
-- Returns per item: the record that stands.
while more() do
  local page, name, wanted, stands = 'd' .. field(), field(), field(), nil
  for g = 1, #generations do
    stands = stands or redis.call('HGET', p .. string.sub(generations, g, g) .. page, name)
  end
  if not stands then
    redis.call('HSET', p .. string.sub(generations, 1, 1) .. page, name, wanted)
    stands = wanted
  end
  answer[#answer + 1] = stands
end
return answer
