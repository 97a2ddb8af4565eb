-- Remove entries from buckets, in all generations.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  sizes   of a posting, by table, a byte each
-- items    rows of key (4 bytes) and entry (8 bytes)
--
-- Returns how many postings were removed. The log of appends is cleared: it would name postings that are gone.
local removed = 0

-- The postings of other entries.
local function without(postings, entry, size)
  local left = {}
  for place = 1, #postings, size do
    if sub(postings, place, place + 7) == entry then
      removed = removed + 1
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
    local buckets, overflow = prefix .. generation .. 'b', prefix .. generation .. 'o' .. name
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
        redis.call('SREM', prefix .. 'h', generation .. name)
      else
        redis.call('SET', overflow, left)
      end
    end
  end
end
if removed > 0 then
  local length = redis.call('LLEN', prefix .. 'l')
  redis.call('DEL', prefix .. 'l')
  redis.call('INCRBY', prefix .. 'a', length + 1) -- even the latest mark is older than this removal
end
return removed
