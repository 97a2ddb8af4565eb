-- Write document records that are not there.
--
-- items    document id, record
--
-- Returns per item: the record that stands.
while more() do
  local name, wanted, stands = field(), field(), nil
  for g = 1, #generations do
    stands = stands or redis.call('HGET', p .. sub(generations, g, g) .. 'd', name)
  end
  if not stands then
    redis.call('HSET', p .. current .. 'd', name, wanted)
    stands = wanted
  end
  answer[#answer + 1] = stands
end
return answer
