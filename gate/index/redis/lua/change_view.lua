-- Change a view that is still the one the caller read. It runs by itself, without run_on_shards.lua.
--
-- KEYS[1]  the view of a shard
-- ARGV[1]  what was read ('' if there was none)
-- ARGV[2]  what is wanted
--
-- Returns 1 if it was changed, 0 if it is something else by now.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
