-- Read document records.
--
-- items    document id
--
-- Returns per item: '' if the document is unknown, else its generation (a byte) and its record.
local names = {}
while more() do names[#names + 1] = field() end
local found, where = standing('d', names)
for i = 1, #names do answer[i] = found[i] and (where[i] or current) .. found[i] or '' end
return answer
