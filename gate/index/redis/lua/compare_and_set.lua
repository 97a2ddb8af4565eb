-- Change fields that still hold what the caller read.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    key behind the prefix, field, what was read, what is wanted ('' removes the field)
--
-- Returns per item: 1 if it was changed, 0 if it holds something else by now.
while more() do
  local key, name, read, wanted, changed = prefix .. field(), field(), field(), field(), 0
  if redis.call('HGET', key, name) == read then
    changed = 1
    if wanted == '' then
      redis.call('HDEL', key, name)
    else
      redis.call('HSET', key, name, wanted)
    end
  end
  results[#results + 1] = changed
end
return results
