-- Read what overflowed from crowded buckets.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  sizes   of a posting, by table, a byte each
-- items    generation and name (5 bytes) of a bucket, and how many postings to return at most (4 bytes, little-endian)
--
-- Returns per item: its postings.
while more() do
  local generation, name, limit
  generation, name, limit, at = unpacked('<c1c4I4', items, at)
  local size = byte(ARGV[3], byte(name, 1) + 1)
  results[#results + 1] = redis.call('GETRANGE', prefix .. generation .. 'o' .. name, 0, limit * size - 1)
end
return results
