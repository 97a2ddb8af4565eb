-- List the crowded buckets.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    none
--
-- Returns generation and name of each (5 bytes).
return redis.call('SMEMBERS', prefix .. 'h')
