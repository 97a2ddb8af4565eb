-- Keep answers in document records; an answer replaces the one it names and no other.
--
-- items    page, document id, content, the stamp on it ('': any), answer, '=' and the answer to replace (or '-': none yet)
--
-- The form of a document record is told in hold.lua.
--
-- Returns per item: '+' if it was kept, '=' and the answer that stands instead, or '-' where none stands or the
-- content is not held.
while more() do
  local page, name, content, stamp, wanted, named = 'd' .. field(), field(), field(), field(), field(), field()
  local stands = '-'
  for g = 1, #generations do
    local key = p .. string.sub(generations, g, g) .. page
    local record = stands == '-' and redis.call('HGET', key, name)
    local begin = 1
    while record and begin <= #record do
      local version = short(record, begin + 24)
      local told = begin + 26 + (version == 65535 and 0 or version)
      local length = short(record, told)
      local past = told + 2 + (length == 65535 and 0 or length)
      if string.sub(record, begin, begin + 15) == content then
        local kept = length == 65535 and '-' or '=' .. string.sub(record, told + 2, past - 1)
        if kept == named and (stamp == '' or string.sub(record, begin + 16, begin + 23) == stamp) then
          redis.call('HSET', key, name, string.sub(record, 1, told - 1)
            .. string.char(#wanted % 256, math.floor(#wanted / 256)) .. wanted .. string.sub(record, past))
          kept = '+'
        end
        stands = kept
        break
      end
      begin = past
    end
  end
  answer[#answer + 1] = stands
end
return answer
