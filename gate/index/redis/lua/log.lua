-- Tell where the log of appends stands, and what was appended since a place in it.
--
-- items    since (a place in the log; '' asks for nothing)
--
-- A place in the log is the seal of the append before it (8 bytes) and its number; '' where the log is empty. The seal
-- is looked at again: where a failover lost the end of the log, other appends stand in the places of the lost ones.
--
-- Returns {next place in the log, 'tail', appended, ...} with what append.lua logged,
--      or {next place in the log} where the log does not reach back to the place.
local base = tonumber(redis.call('GET', p .. 'a') or 0)
local past = base + redis.call('LLEN', p .. 'l')
local last = redis.call('LINDEX', p .. 'l', -1)
local place = last and sub(last, 1, 8) .. string.format('%.0f', past) or ''

local since = field()
if since ~= '' then
  local number = tonumber(sub(since, 9))
  local logged = number > base and redis.call('LRANGE', p .. 'l', number - base - 1, -1) or {}
  if logged[1] and sub(logged[1], 1, 8) == sub(since, 1, 8) then
    return {place, 'tail', unpack(logged, 2)}
  end
end
return {place}
