-- What every script stands in: its text is the body of `work`, which is run for one shard after another.
--
-- KEYS         prefixes of shards; every key that a script touches begins with one of them, and so lies in its slot.
--              One server gets all shards of a batch in one call, a Cluster a call for each.
-- ARGV[1]      view         the caller's view of the index; a caller with another one is refused
-- ARGV[2]      generations  the live ones, a byte each; the first is written to, all are looked in
-- ARGV[3..]    what a script takes beside; it says so
-- the last #KEYS of ARGV    items: for each shard its fields, each behind its length (3 bytes, little-endian)
--
-- Returns for each shard what the script returns.
--
-- A prefix is never a key by itself: hence a master that is giving a slot of a Cluster away refuses every script for it
-- (ASK), and nobody follows. On the other side a script would miss, or write again, what has not been moved yet.
for shard = 1, #KEYS do
  if redis.call('GET', KEYS[shard] .. 'v') ~= ARGV[1] then
    return redis.error_reply('STALE the index has another view')
  end
end

local generations = ARGV[2]
local p, items, at, answer -- of the shard at hand: prefix, items, place in them, and what to return

local function more() return at <= #items end

local function field()
  local low, middle, high = string.byte(items, at, at + 2)
  local first = at + 3
  at = first + low + 256 * middle + 65536 * high
  return string.sub(items, first, at - 1)
end

local function short(text, place)
  local low, high = string.byte(text, place, place + 1)
  return low + 256 * high
end

-- Whether a posting is in its bucket, in any generation.
local function there(key, posting, size)
  for g = 1, #generations do
    local bucket = redis.call('GET', p .. string.sub(generations, g, g) .. 'b' .. key)
    local found = bucket and string.find(bucket, posting, 1, true)
    while found do
      if (found - 1) % size == 0 then return true end
      found = string.find(bucket, posting, found + 1, true)
    end
  end
  return false
end
