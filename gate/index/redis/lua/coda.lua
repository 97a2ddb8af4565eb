local answers = {}
for shard = 1, #KEYS do
  p, items, at, answer = KEYS[shard], ARGV[#ARGV - #KEYS + shard], 1, {}
  local reply, problem = work()
  if problem then return redis.error_reply(problem) end
  answers[shard] = reply
end
return answers
