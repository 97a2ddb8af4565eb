-- Change fields that still hold what the caller saw.
--
-- items    key behind the prefix, field, what was seen, what is wanted ('' removes the field)
--
-- Returns per item: 1 if it was changed, 0 if it holds something else by now.
while more() do
  local key, name, seen, wanted, changed = p .. field(), field(), field(), field(), 0
  if redis.call('HGET', key, name) == seen then
    changed = 1
    if wanted == '' then
      redis.call('HDEL', key, name)
    else
      redis.call('HSET', key, name, wanted)
    end
  end
  answer[#answer + 1] = changed
end
return answer
