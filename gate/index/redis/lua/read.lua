-- Read buckets: whole, or only what was appended since.
--
-- ARGV[3]  limit   postings of one bucket to return, and one more if there are more
-- ARGV[4]  sizes   of a posting, by table, a byte each
-- items    since (a place in the log of appends; '' reads whole buckets), and the keys of the buckets, 4 bytes each
--
-- A place in the log is the seal of the append before it (8 bytes) and its number; '' where the log is empty. The seal
-- is looked at again: where a failover lost the end of the log, other appends stand in the places of the lost ones.
--
-- Returns {next place in the log, 'whole', bucket, ...} in the order of generations and then keys,
--      or {next place in the log, 'tail', appended, ...} with what append.lua logged.
local base = tonumber(redis.call('GET', p .. 'a') or 0)
local past = base + redis.call('LLEN', p .. 'l')
local last = redis.call('LINDEX', p .. 'l', -1)
local place = last and string.sub(last, 1, 8) .. string.format('%.0f', past) or ''

local since, keys = field(), field()

if since ~= '' then
  local number = tonumber(string.sub(since, 9))
  local logged = number > base and redis.call('LRANGE', p .. 'l', number - base - 1, -1) or {}
  if logged[1] and string.sub(logged[1], 1, 8) == string.sub(since, 1, 8) then
    return {place, 'tail', unpack(logged, 2)}
  end
end

answer = {place, 'whole'}
local hot = {}
for _, key in ipairs(redis.call('SMEMBERS', p .. 'h')) do hot[key] = true end
local crowded = next(hot) ~= nil
for g = 1, #generations do
  local head = p .. string.sub(generations, g, g) .. 'b'
  for start = 1, #keys, 16000 do -- 4,000 keys: about half of what Lua can unpack at once
    local names = {}
    for place = start, math.min(start + 15996, #keys), 4 do
      names[#names + 1] = head .. string.sub(keys, place, place + 3)
    end
    local found
    if not crowded then
      found = redis.call('MGET', unpack(names))
    else
      found = {}
      for i, name in ipairs(names) do
        if hot[string.sub(name, #p + 1)] then
          local size = string.byte(ARGV[4], string.byte(name, #head + 1) + 1)
          found[i] = redis.call('GETRANGE', name, 0, (ARGV[3] + 1) * size - 1)
        else
          found[i] = redis.call('GET', name)
        end
      end
    end
    for i = 1, #names do answer[#answer + 1] = found[i] or '' end
  end
end
return answer
