-- Take entries out of buckets, in all generations.
--
-- ARGV[3]  sizes   of a posting, by table, a byte each
-- items    rows of key (4 bytes) and entry (8 bytes)
--
-- Returns how many postings went. The log of appends begins anew: it would tell of postings that are gone.
local gone = 0

-- The postings of other entries.
local function without(postings, entry, size)
  local left = {}
  for place = 1, #postings, size do
    if sub(postings, place, place + 7) == entry then
      gone = gone + 1
    else
      left[#left + 1] = sub(postings, place, place + size - 1)
    end
  end
  return table.concat(left)
end

local rows = field()
for row = 1, #rows, 12 do
  local name, entry = sub(rows, row, row + 3), sub(rows, row + 4, row + 11)
  local size = byte(ARGV[3], byte(name, 1) + 1)
  for g = 1, #generations do
    local generation = sub(generations, g, g)
    local buckets, overflow = p .. generation .. 'b', p .. generation .. 'o' .. name
    local bucket, rest = redis.call('HGET', buckets, name), redis.call('GET', overflow)
    if bucket and string.find(bucket, entry, 1, true) then
      local left = without(bucket, entry, size)
      if left == '' then
        redis.call('HDEL', buckets, name)
      else
        redis.call('HSET', buckets, name, left)
      end
    end
    if rest and string.find(rest, entry, 1, true) then
      local left = without(rest, entry, size)
      if left == '' then
        redis.call('DEL', overflow)
        redis.call('SREM', p .. 'h', generation .. name)
      else
        redis.call('SET', overflow, left)
      end
    end
  end
end
if gone > 0 then
  local length = redis.call('LLEN', p .. 'l')
  redis.call('DEL', p .. 'l')
  redis.call('INCRBY', p .. 'a', length + 1) -- even the latest mark is older than this withdrawal
end
return gone
