-- Write document records that are not there.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    document id, record
--
-- Returns per item: the record then.
while more() do
  local name, wanted, record = field(), field(), nil
  for g = 1, #generations do
    record = record or redis.call('HGET', prefix .. sub(generations, g, g) .. 'd', name)
  end
  if not record then
    redis.call('HSET', prefix .. current .. 'd', name, wanted)
    record = wanted
  end
  results[#results + 1] = record
end
return results
