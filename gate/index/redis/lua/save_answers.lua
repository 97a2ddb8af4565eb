-- Save answers in document records; an answer replaces the one it names and no other.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    document id, content and the stamp on it (or the content alone: any), answer, '=' and the answer to replace
--          ('-': none yet)
--
-- The form of a document record is in add_contents.lua.
--
-- Returns per item: '+' if it was saved, '=' and the answer that is there instead, or '-' where there is none or the
-- content is not held.

-- What to return, and the record with the answer in it if that is saved.
local function with_answer(record, stamped, wanted, named)
  local begin = 1
  while begin <= #record do
    local label = short(record, begin + 24)
    local answer_at = begin + 26 + (label == 65535 and 0 or label)
    local length = short(record, answer_at)
    local past = answer_at + 2 + (length == 65535 and 0 or length)
    local matches = sub(record, begin, begin + #stamped - 1) == stamped
    if matches or sub(record, begin, begin + 15) == sub(stamped, 1, 16) then
      local saved = length == 65535 and '-' or '=' .. sub(record, answer_at + 2, past - 1)
      if saved ~= named or not matches then return saved end
      local size = string.char(#wanted % 256, math.floor(#wanted / 256))
      return '+', sub(record, 1, answer_at - 1) .. size .. wanted .. sub(record, past)
    end
    begin = past
  end
  return '-'
end

local names, stamped, answers, named, n = {}, {}, {}, {}, 0
while more() do
  n = n + 1
  names[n], stamped[n], answers[n], named[n], at = unpacked('<I3c0I3c0I3c0I3c0', items, at)
end
local found, where = lookup('d', names)
local latest, written = {}, {} -- by document, and by generation
for i = 1, n do
  local name, generation = names[i], where[i] or current
  local record, after = latest[name] or found[i], nil
  results[i] = '-'
  if record then results[i], after = with_answer(record, stamped[i], answers[i], named[i]) end
  if after then
    latest[name] = after
    written[generation] = written[generation] or {}
    local list = written[generation]
    list[#list + 1] = name
    list[#list + 1] = after
  end
end
for generation, list in pairs(written) do hset(prefix .. generation .. 'd', list) end
return results
