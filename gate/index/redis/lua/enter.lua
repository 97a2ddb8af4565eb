-- Write entries for contents that have none.
--
-- ARGV[3]  chunks   64-byte pieces that a body has beside its head
-- items    page, name (4 bytes of the content), the record, and the chunks of its body, or '' for each
--
-- A record is
--     content 12 | life 4 | flags 1 | registration 8 | head length 2 | head of the body | holders
-- and contents that share a name stand in the fields name, name .. '\1', name .. '\2' and so on, without a gap. The
-- chunks of a record's body stand beside it, in its field .. 'b' .. number.
--
-- Returns per item: {} if it was written, else {generation, field, record, chunk, ...} of what stands for that content.
local chunks = tonumber(ARGV[3])

-- The field and the record of a content in a page, or the first free field; nil if its life is somebody else's.
local function find(key, name, wanted)
  local place, slot = name, 0
  while true do
    local record = redis.call('HGET', key, place)
    if not record or string.sub(record, 1, 12) == string.sub(wanted, 1, 12) then return place, record end
    if string.sub(record, 13, 16) == string.sub(wanted, 13, 16) then return nil end
    slot = slot + 1
    place = name .. string.char(slot)
  end
end

while more() do
  local page, name, wanted = 'r' .. field(), field(), field()
  local pieces, reply = {}, nil
  for n = 1, chunks do pieces[n] = field() end
  for g = #generations, 1, -1 do
    local generation = string.sub(generations, g, g)
    local key = p .. generation .. page
    local place, record = find(key, name, wanted)
    if not place then return nil, 'ENTRY in use' end
    if record then
      reply = {generation, place, record}
      for n = 1, chunks do reply[#reply + 1] = redis.call('HGET', key, place .. 'b' .. n) or '' end
      break
    end
    if g == 1 then
      -- One command: where memory ends, an entry is there with its body or not at all.
      local written = {place, wanted}
      for n = 1, chunks do
        if pieces[n] ~= '' then
          written[#written + 1] = place .. 'b' .. n
          written[#written + 1] = pieces[n]
        end
      end
      redis.call('HSET', key, unpack(written))
      reply = {}
    end
  end
  answer[#answer + 1] = reply
end
return answer
