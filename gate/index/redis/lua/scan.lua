-- Go on through a hash: of buckets, entries or documents. A field may come twice while the hash shrinks.
--
-- ARGV[3]  count   fields to look at, about
-- items    generation and kind (2 bytes), where to go on ('0' at first)
--
-- Returns per item: {where to go on, names and values in turn}; '0' is the end.
while more() do
  local key, cursor
  key, cursor, at = unpacked('<c2I3c0', items, at)
  answer[#answer + 1] = redis.call('HSCAN', p .. key, cursor, 'COUNT', ARGV[3])
end
return answer
