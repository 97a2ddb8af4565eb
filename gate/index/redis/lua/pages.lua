-- Read whole pages, of the registry or of documents.
--
-- items    kind ('r' or 'd') and page
--
-- Returns per item: names and values of the page's fields, in all generations.
while more() do
  local page, fields = field(), {}
  for g = 1, #generations do
    for _, one in ipairs(redis.call('HGETALL', p .. string.sub(generations, g, g) .. page)) do
      fields[#fields + 1] = one
    end
  end
  answer[#answer + 1] = fields
end
return answer
