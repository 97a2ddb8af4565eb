-- Let documents hold contents.
--
-- items    page, document id, content and stamp (24 bytes), version and no answer
--
-- A document record is one or more of
--     content 16 | stamp 8 | version length 2 | version | answer length 2 | answer        length 65535: there is none
-- An answer of length 0 was taken back; from now on there is none, and the stamp is a new one.
--
-- Returns per item: the document's record as it was before, '' if it is new.

local function size(record, place)
  local length = short(record, place)
  return length == 65535 and 0 or length
end

-- Where a content stands in a record, and where the length of the answer to it does; nil if it is not held.
local function find(record, content)
  local begin = 1
  while begin <= #record do
    local told = begin + 26 + size(record, begin + 24)
    if string.sub(record, begin, begin + 15) == content then return begin, told end
    begin = told + 2 + size(record, told)
  end
end

while more() do
  local page, name, fixed = 'd' .. field(), field(), field()
  local held = fixed .. field()
  local key, before
  for g = #generations, 2, -1 do
    local older = p .. string.sub(generations, g, g) .. page
    local record = redis.call('HGET', older, name)
    if record then key, before = older, record end
  end
  if not before then
    key = p .. string.sub(generations, 1, 1) .. page
    if redis.call('HSETNX', key, name, held) == 0 then before = redis.call('HGET', key, name) end
  end
  if before then
    local begin, told = find(before, string.sub(held, 1, 16))
    local after = before
    if not begin then
      after = before .. held
    elseif string.sub(before, told, told + 1) == '\0\0' then
      after = string.sub(before, 1, begin + 15) .. string.sub(held, 17, 24) .. string.sub(before, begin + 24, told - 1)
        .. '\255\255' .. string.sub(before, told + 2)
    end
    if after ~= before then
      -- What is new goes to the generation that is written to, and takes the document along: it lives as long as that.
      local current = p .. string.sub(generations, 1, 1) .. page
      redis.call('HSET', current, name, after)
      if key ~= current then redis.call('HDEL', key, name) end
    end
  end
  answer[#answer + 1] = before or ''
end
return answer
