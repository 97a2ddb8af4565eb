-- Scan the buckets, a page at a time, for how many postings each has, with those of its overflow.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  count   buckets to visit, about
-- ARGV[4]  sizes   of a posting, by table, a byte each
-- items    generation, cursor ('0' at first)
--
-- Returns per item: {cursor, counts (4 bytes each)}; '0' is the end.
local crowded = {}
for _, name in ipairs(redis.call('SMEMBERS', prefix .. 'h')) do crowded[name] = true end
while more() do
  local generation, cursor
  generation, cursor, at = unpacked('<c1I3c0', items, at)
  local page, counts = redis.call('HSCAN', prefix .. generation .. 'b', cursor, 'COUNT', ARGV[3]), {}
  for i = 1, #page[2], 2 do
    local name, bytes = page[2][i], #page[2][i + 1]
    if crowded[generation .. name] then bytes = bytes + redis.call('STRLEN', prefix .. generation .. 'o' .. name) end
    counts[#counts + 1] = struct.pack('<I4', bytes / byte(ARGV[4], byte(name, 1) + 1))
  end
  results[#results + 1] = {page[1], table.concat(counts)}
end
return results
