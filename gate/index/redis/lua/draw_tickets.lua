-- Draw tickets. They only ever rise, even where a failover lost the last of them.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- ARGV[3]  count
-- ARGV[4]  floor  the highest ticket that the caller knows of
-- items    none; the shard is the first one
--
-- Returns the first ticket, as text: as a number it would lose digits on its way through Lua.
local clock = redis.call('TIME')
local drawn = tonumber(redis.call('GET', prefix .. 't') or 0)
local first = math.max(drawn, tonumber(ARGV[4]), clock[1] * 1000000 + clock[2]) + 1
redis.call('SET', prefix .. 't', string.format('%.0f', first + ARGV[3] - 1))
return string.format('%.0f', first)
