-- Find entries, by their content or by their life.
--
-- ARGV[3]  chunks  how many of a body to return
-- items    page, name, and 12 bytes of a content or 4 bytes of a life
--
-- The form of a record is told in enter.lua.
--
-- Returns per item: {} if there is none, else {generation, field, record, chunk, ...}.
local chunks = tonumber(ARGV[3])

while more() do
  local page, name, wanted, reply = 'r' .. field(), field(), field(), {}
  local from, to = 1, 12
  if #wanted == 4 then from, to = 13, 16 end
  for g = 1, #generations do
    local generation = string.sub(generations, g, g)
    local key = p .. generation .. page
    local place, slot = name, 0
    local record = #reply == 0 and redis.call('HGET', key, place)
    while record do
      if string.sub(record, from, to) == wanted then
        reply = {generation, place, record}
        for n = 1, chunks do reply[#reply + 1] = redis.call('HGET', key, place .. 'b' .. n) or '' end
        break
      end
      slot = slot + 1
      place = name .. string.char(slot)
      record = redis.call('HGET', key, place)
    end
  end
  answer[#answer + 1] = reply
end
return answer
