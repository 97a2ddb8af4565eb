-- Read what overflowed from crowded buckets.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  limit   postings to return at most of each
-- ARGV[4]  sizes   of a posting, by table, a byte each
-- items    generation and name (5 bytes) of a bucket
--
-- Returns per item: its postings.
while more() do
  local generation, name
  generation, name, at = unpacked('c1c4', items, at)
  local size = byte(ARGV[4], byte(name, 1) + 1)
  results[#results + 1] = redis.call('GETRANGE', prefix .. generation .. 'o' .. name, 0, ARGV[3] * size - 1)
end
return results
