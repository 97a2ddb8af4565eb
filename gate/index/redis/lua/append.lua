-- Append postings to buckets, each where it is not there yet.
--
-- ARGV[3]  limit  postings; a longer bucket is marked as hot, so that reads do not fetch all of it
-- ARGV[4]  log    how many appends to remember for tail reads
-- ARGV[5]  mode   'new': none of these entries has appended before, so nothing is searched
--                 'again': somebody may have been here already
-- items    the size of a posting (a byte), and rows of key (4 bytes) and posting
local head = string.sub(generations, 1, 1) .. 'b'
local search = ARGV[5] == 'again'

local clock = redis.call('TIME')
local seal = struct.pack('<d', clock[1] * 1000000 + clock[2]) -- tells this append from any other in its place
local logged = 0
while more() do
  local size, rows = string.byte(field()), field()
  local crowded = ARGV[3] * size
  for row = 1, #rows, size + 4 do
    local key, posting = string.sub(rows, row, row + 3), string.sub(rows, row + 4, row + 3 + size)
    if not (search and there(key, posting, size)) then
      if redis.call('APPEND', p .. head .. key, posting) > crowded then redis.call('SADD', p .. 'h', head .. key) end
    end
  end
  logged = redis.call('RPUSH', p .. 'l', seal .. string.char(size) .. rows)
end
local surplus = logged - ARGV[4]
if surplus > 0 then
  redis.call('LTRIM', p .. 'l', surplus, -1)
  redis.call('INCRBY', p .. 'a', surplus)
end
return 'OK'
