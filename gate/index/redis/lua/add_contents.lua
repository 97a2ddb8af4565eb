-- Add contents to the records of documents.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    document id, and the record of a document that holds the content alone
--
-- A document record is one or more of
--     content 16 | stamp 8 | label length 2 | label | answer length 2 | answer            length 65535: there is none
-- The label is the version and the details of the document, which never change.
-- An answer of length 0 was taken back; from now on there is none, and the stamp is a new one.
--
-- Returns per item: the document's record as it was before, '' if it is new.

local function size(record, place)
  local length = short(record, place)
  return length == 65535 and 0 or length
end

-- Where a content begins in a record, and where the length of the answer to it does; nil if it is not held.
local function find(record, content)
  local begin = 1
  while begin <= #record do
    local answer_at = begin + 26 + size(record, begin + 24)
    if sub(record, begin, begin + 15) == content then return begin, answer_at end
    begin = answer_at + 2 + size(record, answer_at)
  end
end

-- The record of a document that holds a content beside what it held before.
local function with_content(before, added)
  local begin, answer_at = find(before, sub(added, 1, 16))
  if not begin then return before .. added end
  if sub(before, answer_at, answer_at + 1) ~= '\0\0' then return before end
  return sub(before, 1, begin + 15) .. sub(added, 17, 24) .. sub(before, begin + 24, answer_at - 1) .. '\255\255'
    .. sub(before, answer_at + 2)
end

local names, added, n = {}, {}, 0
while more() do
  n = n + 1
  names[n], added[n], at = unpacked('<I3c0I3c0', items, at)
end
local found, where = lookup('d', names)
local latest, written, moved = {}, {}, {}
for i = 1, n do
  local name = names[i]
  local before = latest[name] or found[i]
  local after = before and with_content(before, added[i]) or added[i]
  if after ~= before then
    -- What is new goes to the generation that is written to, and takes the document along: it lives as long as that.
    latest[name], moved[name] = after, where[i]
    written[#written + 1] = name
    written[#written + 1] = after
  end
  results[i] = before or ''
end
hset(prefix .. current .. 'd', written)
for name, generation in pairs(moved) do redis.call('HDEL', prefix .. generation .. 'd', name) end
return results
