-- Read document records.
--
-- items    page, document id
--
-- Returns per item: '' if the document is unknown, else its generation (a byte) and its record.
while more() do
  local page, name, stands = 'd' .. field(), field(), ''
  for g = 1, #generations do
    local generation = string.sub(generations, g, g)
    local record = stands == '' and redis.call('HGET', p .. generation .. page, name)
    if record then stands = generation .. record end
  end
  answer[#answer + 1] = stands
end
return answer
