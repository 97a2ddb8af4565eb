-- What every operation runs in: the text of its script takes the place of the marked line below, as the body of
-- `operation`, which is called for one shard after another.
--
-- KEYS         prefixes of shards; every key that a script touches begins with one of them, and so lies in its slot.
--              One server gets all shards of a batch in one call, a Cluster a call for each.
-- ARGV[1]      view         the caller's view of the index; a caller with another one is refused
-- ARGV[2]      generations  the live ones, a byte each; the first is written to, all are read
-- ARGV[3..]    what an operation takes beside; its header says so
-- the last #KEYS of ARGV    items of each shard, one after another: a field that an operation gives a width for is as
--                           it is, any other is behind its length (3 bytes, little-endian)
--
-- Returns for each shard what the operation returns.
--
-- A call of Redis from Lua costs as much as reading several fields: what is under many names is read, and written, at
-- once, and only names that occur twice in a call are gone through one by one.
--
-- A prefix is never a key by itself: hence a master that is giving a slot of a Cluster away refuses every script for it
-- (ASK), and no client follows. On the other side a script would miss, or write again, what has not been moved yet.
for shard = 1, #KEYS do
  if redis.call('GET', KEYS[shard] .. 'v') ~= ARGV[1] then
    return redis.error_reply('STALE the index has another view')
  end
end

local unpacked, sub, byte = struct.unpack, string.sub, string.byte
local generations = ARGV[2]
local current = sub(generations, 1, 1)
local prefix, items, at, results -- of the current shard: prefix, items, place in them, and what to return

local function more() return at <= #items end

local function field()
  local text
  text, at = unpacked('<I3c0', items, at)
  return text
end

local function short(text, place)
  local low, high = byte(text, place, place + 1)
  return low + 256 * high
end

local MOST = 4000 -- about half of what Lua can unpack at once

local function hmget(key, names)
  if #names <= MOST then return #names > 0 and redis.call('HMGET', key, unpack(names)) or {} end
  local found = {}
  for first = 1, #names, MOST do
    local some = redis.call('HMGET', key, unpack(names, first, math.min(first + MOST - 1, #names)))
    for i = 1, #some do found[first + i - 1] = some[i] end
  end
  return found
end

-- Names and values, in turn.
local function hset(key, written)
  for first = 1, #written, MOST do
    redis.call('HSET', key, unpack(written, first, math.min(first + MOST - 1, #written)))
  end
end

-- The values under names of a kind, false where there is none, and the older generations that they are of.
local function lookup(kind, names)
  local found, where = hmget(prefix .. current .. kind, names), {}
  for g = 2, #generations do
    local generation = sub(generations, g, g)
    local older = hmget(prefix .. generation .. kind, names)
    for i = 1, #names do
      if older[i] and not found[i] then found[i], where[i] = older[i], generation end
    end
  end
  return found, where
end

-- Whether a posting is in its bucket, in any generation.
local function has_posting(key, posting, size)
  for g = 1, #generations do
    local generation = sub(generations, g, g)
    for _, bucket in ipairs({
      redis.call('HGET', prefix .. generation .. 'b', key), redis.call('GET', prefix .. generation .. 'o' .. key)
    }) do
      local found = bucket and string.find(bucket, posting, 1, true)
      while found do
        if (found - 1) % size == 0 then return true end
        found = string.find(bucket, posting, found + 1, true)
      end
    end
  end
  return false
end

local function operation()
--@ operation
end

local replies = {}
for shard = 1, #KEYS do
  prefix, items, at, results = KEYS[shard], ARGV[#ARGV - #KEYS + shard], 1, {}
  local reply, problem = operation()
  if problem then return redis.error_reply(problem) end
  replies[shard] = reply
end
return replies
