-- Name the crowded buckets.
--
-- items    none
--
-- Returns generation and name of each (5 bytes).
return redis.call('SMEMBERS', p .. 'h')
