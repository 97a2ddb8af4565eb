-- Go on through the buckets, and tell how many postings each has, those of its overflow included.
--
-- ARGV[3]  count   buckets to look at, about
-- ARGV[4]  sizes   of a posting, by table, a byte each
-- items    generation, where to go on ('0' at first)
--
-- Returns per item: {where to go on, counts (4 bytes each)}.
local crowded = {}
for _, name in ipairs(redis.call('SMEMBERS', p .. 'h')) do crowded[name] = true end
while more() do
  local generation, cursor
  generation, cursor, at = unpacked('<c1I3c0', items, at)
  local page, counts = redis.call('HSCAN', p .. generation .. 'b', cursor, 'COUNT', ARGV[3]), {}
  for i = 1, #page[2], 2 do
    local name, bytes = page[2][i], #page[2][i + 1]
    if crowded[generation .. name] then bytes = bytes + redis.call('STRLEN', p .. generation .. 'o' .. name) end
    counts[#counts + 1] = struct.pack('<I4', bytes / byte(ARGV[4], byte(name, 1) + 1))
  end
  answer[#answer + 1] = {page[1], table.concat(counts)}
end
return answer
