-- Register living entries that are not registered yet.
--
-- items    page, name, life, and 9 bytes: flags and registration
--
-- Flags: 1 the registration is a ticket, 2 it is the original's entry, 4 the entry is dead. The form of a record is
-- told in enter.lua.
--
-- Returns per item: the record that stands, or '' where the entry is dead or gone.
while more() do
  local page, name, life, wanted, stands = 'r' .. field(), field(), field(), field(), ''
  for g = 1, #generations do
    local key = p .. string.sub(generations, g, g) .. page
    local place, slot = name, 0
    local record = stands == '' and redis.call('HGET', key, place)
    while record do
      if string.sub(record, 13, 16) == life then
        local flags = string.byte(record, 17)
        if flags == 0 then
          record = string.sub(record, 1, 16) .. wanted .. string.sub(record, 26)
          redis.call('HSET', key, place, record)
        end
        if flags < 4 then stands = record end
        break
      end
      slot = slot + 1
      place = name .. string.char(slot)
      record = redis.call('HGET', key, place)
    end
  end
  answer[#answer + 1] = stands
end
return answer
