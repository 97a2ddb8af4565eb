-- Append postings to buckets, each where it is not there yet.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  split  postings that a bucket has at most; the others go to its overflow, where they are not copied again
-- ARGV[4]  log    how many appends to log for tail reads
-- ARGV[5]  mode   'new': none of these entries was appended before, so nothing is searched
--                 'again': some postings may be there already
-- items    the size of a posting (a byte), and rows of key (4 bytes) and posting
--
-- Returns 'OK'.
local buckets = prefix .. current .. 'b'
local split = tonumber(ARGV[3])

local function overflow(name, posting)
  redis.call('APPEND', prefix .. current .. 'o' .. name, posting)
  redis.call('SADD', prefix .. 'h', current .. name)
end

local clock = redis.call('TIME')
local seal = struct.pack('<d', clock[1] * 1000000 + clock[2]) -- distinguishes this append from any other in its place
local logged = 0
while more() do
  local size, rows = byte(field()), field()
  local names, postings, n = {}, {}, 0
  for row = 1, #rows, size + 4 do
    n = n + 1
    names[n], postings[n] = sub(rows, row, row + 3), sub(rows, row + 4, row + size + 3)
  end
  local full = split * size
  if ARGV[5] == 'again' then
    for i = 1, n do
      local name, posting = names[i], postings[i]
      if not has_posting(name, posting, size) then
        local bucket = redis.call('HGET', buckets, name) or ''
        if #bucket < full then
          redis.call('HSET', buckets, name, bucket .. posting)
        else
          overflow(name, posting)
        end
      end
    end
  else
    local found, latest, written, last = hmget(buckets, names), {}, {}, 0
    for i = 1, n do
      local name, posting = names[i], postings[i]
      local bucket = latest[name] or found[i] or ''
      if #bucket < full then
        bucket = bucket .. posting
        latest[name], written[last + 1], written[last + 2] = bucket, name, bucket
        last = last + 2
      else
        overflow(name, posting)
      end
    end
    hset(buckets, written)
  end
  logged = redis.call('RPUSH', prefix .. 'l', seal .. string.char(size) .. rows)
end
local surplus = logged - ARGV[4]
if surplus > 0 then
  redis.call('LTRIM', prefix .. 'l', surplus, -1)
  redis.call('INCRBY', prefix .. 'a', surplus)
end
return 'OK'
