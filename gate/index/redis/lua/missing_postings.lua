-- Find the postings that are not in their buckets, in any generation.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    the size of a posting (a byte), and rows of key (4 bytes) and posting
--
-- Returns per item: the size, and the rows that are missing.
while more() do
  local size, rows = field(), field()
  local width, lost = string.byte(size), {}
  for row = 1, #rows, width + 4 do
    local key, posting = string.sub(rows, row, row + 3), string.sub(rows, row + 4, row + 3 + width)
    if not has_posting(key, posting, width) then lost[#lost + 1] = key .. posting end
  end
  results[#results + 1] = size .. table.concat(lost)
end
return results
