-- Keep answers in document records; an answer replaces the one it names and no other.
--
-- items    document id, content and the stamp on it (or the content alone: any), answer, '=' and the answer to replace
--          ('-': none yet)
--
-- The form of a document record is told in hold.lua.
--
-- Returns per item: '+' if it was kept, '=' and the answer that stands instead, or '-' where none stands or the
-- content is not held.

-- What to return, and the record with the answer in it if that is kept.
local function kept(record, mark, wanted, named)
  local begin = 1
  while begin <= #record do
    local version = short(record, begin + 24)
    local told = begin + 26 + (version == 65535 and 0 or version)
    local length = short(record, told)
    local past = told + 2 + (length == 65535 and 0 or length)
    local marked = sub(record, begin, begin + #mark - 1) == mark
    if marked or sub(record, begin, begin + 15) == sub(mark, 1, 16) then
      local stands = length == 65535 and '-' or '=' .. sub(record, told + 2, past - 1)
      if stands ~= named or not marked then return stands end
      local size = string.char(#wanted % 256, math.floor(#wanted / 256))
      return '+', sub(record, 1, told - 1) .. size .. wanted .. sub(record, past)
    end
    begin = past
  end
  return '-'
end

local names, marks, answers, named, n = {}, {}, {}, {}, 0
while more() do
  n = n + 1
  names[n], marks[n], answers[n], named[n], at = unpacked('<I3c0I3c0I3c0I3c0', items, at)
end
local found, where = standing('d', names)
local latest, written = {}, {} -- by document, and by generation
for i = 1, n do
  local name, generation = names[i], where[i] or current
  local record, after = latest[name] or found[i], nil
  answer[i] = '-'
  if record then answer[i], after = kept(record, marks[i], answers[i], named[i]) end
  if after then
    latest[name] = after
    written[generation] = written[generation] or {}
    local list = written[generation]
    list[#list + 1] = name
    list[#list + 1] = after
  end
end
for generation, list in pairs(written) do hset(p .. generation .. 'd', list) end
return answer
