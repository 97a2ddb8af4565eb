-- Read the log of appends from a place in it to its end.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    since (a place in the log; '' asks for the end only)
--
-- A place in the log is the seal of the append before it (8 bytes) and its number; '' where the log is empty. The seal
-- is compared: where a failover lost the end of the log, other appends are in the places of the lost ones.
--
-- Returns {end of the log, 'tail', appended, ...} with what append_postings.lua logged,
--      or {end of the log} where the log does not reach back to the place.
local base = tonumber(redis.call('GET', prefix .. 'a') or 0)
local past = base + redis.call('LLEN', prefix .. 'l')
local last = redis.call('LINDEX', prefix .. 'l', -1)
local place = last and sub(last, 1, 8) .. string.format('%.0f', past) or ''

local since = field()
if since ~= '' then
  local number = tonumber(sub(since, 9))
  local logged = number > base and redis.call('LRANGE', prefix .. 'l', number - base - 1, -1) or {}
  if logged[1] and sub(logged[1], 1, 8) == sub(since, 1, 8) then
    return {place, 'tail', unpack(logged, 2)}
  end
end
return {place}
