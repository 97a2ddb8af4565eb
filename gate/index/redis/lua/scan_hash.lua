-- Scan a hash, a page at a time: of buckets, entries or documents. A field may come twice while the hash shrinks.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  count   fields to visit, about
-- ARGV[4]  pattern of the names to return
-- items    generation and kind (2 bytes), cursor ('0' at first)
--
-- Returns per item: {cursor, names and values in turn}; '0' is the end.
while more() do
  local key, cursor
  key, cursor, at = unpacked('<c2I3c0', items, at)
  results[#results + 1] = redis.call('HSCAN', prefix .. key, cursor, 'MATCH', ARGV[4], 'COUNT', ARGV[3])
end
return results
