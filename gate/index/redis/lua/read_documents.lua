-- Read the records of documents.
--
-- KEYS     prefixes of shards
-- ARGV     view, generations (see run_on_shards.lua)
-- items    document id
--
-- Returns per item: '' if the document is unknown, else its generation (a byte) and its record.
local names = {}
while more() do names[#names + 1] = field() end
local found, where = lookup('d', names)
for i = 1, #names do results[i] = found[i] and (where[i] or current) .. found[i] or '' end
return results
