-- Take entries out of buckets, in all generations.
--
-- ARGV[3]  limit   a bucket within it is no longer hot
-- ARGV[4]  sizes   of a posting, by table, a byte each
-- items    rows of key (4 bytes) and entry (8 bytes)
--
-- Returns how many postings went. The log of appends begins anew: it would tell of postings that are gone.
local gone = 0
local rows = field()
for row = 1, #rows, 12 do
  local key, entry = string.sub(rows, row, row + 3), string.sub(rows, row + 4, row + 11)
  local size = string.byte(ARGV[4], string.byte(key, 1) + 1)
  for g = 1, #generations do
    local name = string.sub(generations, g, g) .. 'b' .. key
    local bucket = redis.call('GET', p .. name)
    if bucket and string.find(bucket, entry, 1, true) then
      local left = {}
      for place = 1, #bucket, size do
        if string.sub(bucket, place, place + 7) == entry then
          gone = gone + 1
        else
          left[#left + 1] = string.sub(bucket, place, place + size - 1)
        end
      end
      if #left > 0 then
        redis.call('SET', p .. name, table.concat(left))
      else
        redis.call('DEL', p .. name)
      end
      if #left <= tonumber(ARGV[3]) then redis.call('SREM', p .. 'h', name) end
    end
  end
end
if gone > 0 then
  local length = redis.call('LLEN', p .. 'l')
  redis.call('DEL', p .. 'l')
  redis.call('INCRBY', p .. 'a', length + 1) -- even the latest mark is older than this withdrawal
end
return gone
