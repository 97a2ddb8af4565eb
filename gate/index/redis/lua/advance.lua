-- Change a view that is still the one the caller saw. It stands by itself, without the prelude.
--
-- KEYS[1]  the view of a shard
-- ARGV[1]  what was seen ('' if there was none)
-- ARGV[2]  what is wanted
--
-- Returns 1 if it was changed, 0 if it is something else by now.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
