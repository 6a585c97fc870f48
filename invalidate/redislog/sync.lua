-- Proves by a write that this server takes records, starts a new epoch where it
-- may have lost some, appends, and returns what lies behind the caller.
--
-- KEYS  meta hash, key stream, scope stream; then cells to remove first
-- ARGV  1 highest epoch the caller knows   2, 3 its last id of each stream
--       4, 5 payloads, '' appends nothing  6, 7 how many records streams retain
--       8 run id of this server, '' asks INFO for it
--       9 the caller's bound in ms         10, 11 records and bytes of a page
--       12 the epoch's mark in the last reply the caller had, '' for none
--
-- Returns nothing at all where INFO does not tell the run id. In place of a list
-- of records it returns 0 where there is nothing but what the caller appends.
--
-- Numbers are doubles: exact for epochs, for positions within them and for the
-- milliseconds of a bound, and never used for microseconds.

local meta, keys, scopes = KEYS[1], KEYS[2], KEYS[3]
local LIMIT = 4200000000 -- of epochs and of numbers, which a position holds in 32 bits each
local CHUNK = 100

-- Whatever is asked, something is written: a server that must not be written to,
-- being a replica (READONLY) or cut off from its own (NOREPLICAS), renews nobody.
local time = redis.call('TIME')
local now = string.format('%s%06d', time[1], time[2])
local appends = ARGV[4] ~= '' or ARGV[5] ~= ''
if not appends then redis.call('HSET', meta, 'hb', time[1]) end

local run = ARGV[8]
if run == '' then
  local info = redis.pcall('INFO', 'server')
  run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
  if not run then return {} end
end

local function split(id)
  local epoch, n = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(epoch) or 0, tonumber(n) or 0
end

local function newest(key)
  local r = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
  return r[1] and r[1][1] or ''
end

local function above(a, b)
  local ae, an = split(a)
  local be, bn = split(b)
  return ae > be or (ae == be and an > bn)
end

-- An epoch out of range is not ours: somebody else wrote it.
local function usable(epoch)
  return epoch and epoch > 0 and epoch < LIMIT and math.floor(epoch) or 0
end

if KEYS[4] then redis.call('UNLINK', unpack(KEYS, 4)) end

local h = redis.call('HMGET', meta, 'run', 'ep', 'kl', 'sl', 'b', 'mark')
local bound = tonumber(h[5] or '') or 0
if tonumber(ARGV[9]) > bound then
  bound = tonumber(ARGV[9])
  redis.call('HSET', meta, 'b', ARGV[9])
end
bound = string.format('%.0f', bound)

-- The short way, for a caller who appends and whose knowledge ends where the
-- log's own notes do. The streams are not looked at: should one of them have
-- been damaged, then its next reader finds a hole before what is written now,
-- and this caller misses nothing. An id that does not fit leads the long way.
local function follow(key, field, payload, i)
  if payload == '' then return '' end
  local e, n = split(h[i])
  if n >= LIMIT then return end
  local id = string.format('%.0f-%.0f', e, n + 1)
  local r = redis.pcall('XADD', key, 'MAXLEN', '~', ARGV[3 + i], id, 't', now, 'd', payload)
  if type(r) == 'table' then return end
  redis.call('HSET', meta, field, id)
  h[i] = id
  return id
end

if appends and run == h[1] and ARGV[12] == h[6] and ARGV[2] == h[3] and ARGV[3] == h[4] then
  local kid = follow(keys, 'kl', ARGV[4], 3)
  local sid = kid and follow(scopes, 'sl', ARGV[5], 4)
  if sid then return { 0, 0, 0, kid, sid, now, bound, h[6] } end
end

local epoch = usable(tonumber(h[2] or ''))
local last = { [keys] = newest(keys), [scopes] = newest(scopes) }
local most = { [keys] = ARGV[6], [scopes] = ARGV[7] }

-- Whoever loses everything, or fails over, twice within a second may start two
-- epochs of one number. Their marks tell them apart.
local function replaced()
  local known = tonumber(string.match(ARGV[12], '^%d+'))
  return known == epoch and tonumber(ARGV[1]) == epoch and ARGV[12] ~= h[6]
end

-- Returns false for an id that is not above all that the stream ever had.
local function add(key, id, name, value)
  local r = redis.pcall('XADD', key, 'MAXLEN', '~', most[key], id, 't', now, name, value)
  if type(r) == 'table' and r.err then
    if string.find(r.err, 'stream', 1, true) then return false end
    redis.call('XADD', key, id, 't', now, name, value) -- raises the same
  end
  last[key] = id
  return true
end

local function start()
  local ke, se = split(last[keys]), split(last[scopes])
  epoch = 1 + math.max(tonumber(time[1]) - 1, epoch, usable(tonumber(ARGV[1])), usable(ke), usable(se))
  if epoch >= LIMIT then error('epochs are used up', 0) end
  local number = string.format('%.0f', epoch)
  local id = number .. '-0'
  for _, key in ipairs({ keys, scopes }) do
    local prev = last[key]
    if not add(key, id, 'b', prev) then
      -- Others wrote to the stream, and for once above whatever we will write.
      -- Nothing is lost with it that is not given up now.
      redis.call('DEL', key)
      add(key, id, 'b', prev)
    end
  end
  h[6] = number .. '@' .. now .. run
  redis.call('HSET', meta, 'run', run, 'ep', number, 'kl', id, 'sl', id, 'mark', h[6])
end

-- Says whether a stream ends as we left it.
local function intact(key, known, callers)
  local e, n = split(last[key])
  return last[key] == known and e == epoch and n < LIMIT and not above(callers, last[key])
end

if epoch == 0 or run ~= h[1] or replaced()
  or not intact(keys, h[3], ARGV[2]) or not intact(scopes, h[4], ARGV[3]) then
  start()
end

local function append(key, field, payload)
  if payload == '' then return '' end
  while true do
    local _, n = split(last[key])
    local id = string.format('%.0f-%.0f', epoch, n + 1)
    if add(key, id, 'd', payload) then
      redis.call('HSET', meta, field, id)
      return id
    end
    start() -- others wrote above, and removed it again
  end
end

local kid = append(keys, 'kl', ARGV[4])
local sid = append(scopes, 'sl', ARGV[5])

local more = 0

-- In chunks, so that a page is bounded in bytes, too: a record has a few bytes
-- or some ten thousand.
local function page(key, after)
  local out, size = {}, 0
  if after == last[key] then return out end
  while true do
    local part = redis.call('XRANGE', key, '(' .. after, '+', 'COUNT', CHUNK)
    for _, r in ipairs(part) do
      out[#out + 1] = r
      size = size + #(r[2][4] or '')
    end
    if #part < CHUNK then return out end
    if #out >= tonumber(ARGV[10]) or size >= tonumber(ARGV[11]) then
      more = 1
      return out
    end
    after = part[#part][1]
  end
end

local kr, sr = page(keys, ARGV[2]), page(scopes, ARGV[3])
return { kr, sr, more, kid, sid, now, bound, h[6] or '' }
