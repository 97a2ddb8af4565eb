-- Read whole pages, of the registry or of documents.
--
-- items    kind ('r' or 'd') and page
--
-- Returns per item and generation: the names and values of its fields.
while more() do
  local page = field()
  for g = 1, #generations do
    answer[#answer + 1] = redis.call('HGETALL', p .. string.sub(generations, g, g) .. page)
  end
end
return answer
