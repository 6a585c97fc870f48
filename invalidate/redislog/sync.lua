-- Writes first, which proves that this server takes records. Starts a new epoch when the log may
-- not be the one that the caller or its own notes know. Appends. Returns the records after the
-- caller's positions.
--
-- KEYS  meta hash, key stream, scope stream; then cells to remove first, or the cell to store
-- ARGV  1 highest epoch the caller knows   2, 3 its last position of each stream
--       4, 5 payloads, '' appends nothing  6, 7 how many records the streams retain
--       8, 9 run id and replication id of this server, '' asks INFO for both
--       10 the caller's bound in ms        11, 12 records and bytes of a page; 0: no records
--       13 the id of the caller's epoch, 14, 15 those of its last records; '' for an
--       unknown id
--       16, 17, 18 new ids: of an epoch, of a key record, of a scope record
--       19 the version of the layout of records and notes
--       20, 21 the frame and the lease in ms of a claim on the cell to store; missing for none
--       22, 23 the cell's new frame, as of the record after the caller's positions, and its TTL in ms
--
-- An id is eight random bytes from the caller. Field i of a record holds the record's own id and
-- the id of the record before it.
--
-- Returns an empty list when INFO does not show the server's ids, the version alone when that of the log
-- is another one, and a short list when the caller knows where the log ends, and its own records follow. With a cell to store, the
-- last element is 1: it has the claim, 2: it has the frame.
--
-- Numbers are doubles. They are exact for epochs, for positions within them and for the
-- milliseconds of a bound. The script never calculates with microseconds.

local meta, keys, scopes = KEYS[1], KEYS[2], KEYS[3]
local LIMIT = 4200000000 -- of epochs and of numbers; a position holds each in 32 bits

local h = redis.call('HMGET', meta, 'run', 'rep', 'wit', 'ep', 'id', 'kl', 'sl', 'ki', 'si', 'b', 'v')
local RUN, REP, WIT, EP, ID, B, V = 1, 2, 3, 4, 5, 10, 11
if h[EP] and h[V] ~= ARGV[19] then return { h[V] or '' } end

-- Every call writes something. A server that must not take writes fails here, and renews no lease:
-- a replica (READONLY), or a primary cut off from its replicas (NOREPLICAS).
local time = redis.call('TIME')
local now = string.format('%s%06d', time[1], time[2])
local appends = ARGV[4] ~= '' or ARGV[5] ~= ''
if not appends then redis.call('HSET', meta, 'hb', time[1], 'kn', ARGV[6], 'sn', ARGV[7]) end

-- The run id changes with the server process. The replication id also changes when the server has
-- followed another one.
local run, rep = ARGV[8], ARGV[9]
if run == '' then
  local info = redis.pcall('INFO', 'server', 'replication')
  if type(info) ~= 'string' then -- before Redis 7: one section a call
    local a, b = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
    info = type(a) == 'string' and type(b) == 'string' and a .. b or ''
  end
  run, rep = string.match(info, 'run_id:(%x+)'), string.match(info, 'master_replid:(%x+)')
  if not run or not rep then return {} end
end

-- The witness is the form in which this server holds the meta hash in memory. start() makes a form
-- that only writes can make. A hash that was loaded (from a dump, from a primary, by RESTORE) has
-- the other form. So the script notices a log that was put back into the same process.
local function form()
  local r = redis.pcall('OBJECT', 'ENCODING', meta)
  return type(r) == 'string' and r or ''
end
local function reloaded(witness)
  return witness ~= '-' and witness ~= form()
end

local function split(id)
  local epoch, n = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(epoch) or 0, tonumber(n) or 0
end

-- Returns the id of a record, '' for none.
local function idof(record)
  local fields = record[2]
  for i = 1, #fields - 1, 2 do
    if fields[i] == 'i' then return string.sub(fields[i + 1], 1, 8) end
  end
  return ''
end

local function newest(key)
  local r = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if not r then return '', '' end
  return r[1], idof(r)
end

local function above(a, b)
  local ae, an = split(a)
  local be, bn = split(b)
  return ae > be or (ae == be and an > bn)
end

-- Another program wrote an epoch that is out of range.
local function usable(epoch)
  return epoch and epoch > 0 and epoch < LIMIT and math.floor(epoch) or 0
end

-- A cell to store is claimed before the record is written, over whatever is there, by the rules of
-- Claim.Over of package tier; TestStoringAgreesWithOver compares the two.
local stored
if ARGV[20] then
  redis.call('SET', KEYS[4], ARGV[20], 'PX', ARGV[21])
  stored = 1
elseif KEYS[4] then
  redis.call('UNLINK', unpack(KEYS, 4))
end

local LAST, LASTID = { [keys] = 6, [scopes] = 7 }, { [keys] = 8, [scopes] = 9 }
local bound = tonumber(h[B] or '') or 0
if tonumber(ARGV[10]) > bound then
  bound = tonumber(ARGV[10])
  redis.call('HSET', meta, 'b', ARGV[10])
end
bound = string.format('%.0f', bound)

local most = { [keys] = ARGV[6], [scopes] = ARGV[7] }

-- Adds a record and returns what XADD returns.
local function put(key, at, name, value, ids)
  return redis.pcall('XADD', key, 'MAXLEN', '~', most[key], at, 't', now, name, value, 'i', ids)
end

local same = run == h[RUN] and rep == h[REP] and not reloaded(h[WIT])
local field = { [keys] = { 'kl', 'ki' }, [scopes] = { 'sl', 'si' } }

local function reply(kr, sr, more, kid, sid)
  return { kr, sr, more, kid, sid, now, bound, h[ID], h[6], h[7], h[8], h[9], h[WIT], stored }
end

-- The short way, for a caller that appends and knows exactly what the log's own notes say. It does
-- not read the streams. If one of them was damaged, its next reader finds a hole before the new
-- record, and this caller misses nothing. When XADD refuses the position, the long way follows.
local function follow(key, payload, id)
  if payload == '' then return '' end
  local e, n = split(h[LAST[key]])
  if n >= LIMIT then return end
  local at = string.format('%.0f-%.0f', e, n + 1)
  local r = put(key, at, 'd', payload, id .. h[LASTID[key]])
  if type(r) == 'table' then return end
  redis.call('HSET', meta, field[key][1], at, field[key][2], id)
  h[LAST[key]], h[LASTID[key]] = at, id
  return at
end

if appends and same and ARGV[13] == h[ID] and ARGV[2] == h[6] and ARGV[3] == h[7] and ARGV[14] == h[8] and ARGV[15] == h[9] then
  local kid = follow(keys, ARGV[4], ARGV[17])
  local sid = kid and follow(scopes, ARGV[5], ARGV[18])
  if sid then
    if stored == 1 then -- the record is at the position that the frame names
      redis.call('SET', KEYS[4], ARGV[22], 'PX', ARGV[23])
      stored = 2
    end
    return { now, bound, h[WIT], stored } -- the caller knows the rest
  end
end

local epoch = usable(tonumber(h[EP] or ''))
local last, lastid = {}, {}
for _, key in ipairs({ keys, scopes }) do last[key], lastid[key] = newest(key) end

-- Returns false when the position is not above every id that the stream ever had.
local function add(key, at, name, value, id)
  local own = id .. (lastid[key] ~= '' and lastid[key] or string.rep('\0', 8))
  local r = put(key, at, name, value, own)
  if type(r) == 'table' and r.err then
    if string.find(r.err, 'stream', 1, true) then return false end
    redis.call('XADD', key, at, 't', now, name, value, 'i', own) -- raises the same error
  end
  last[key], lastid[key] = at, id
  h[LAST[key]], h[LASTID[key]] = at, id
  return true
end

-- The number of an epoch is above every number that the log or the caller knows. The script asks no
-- clock. Two epochs may have the same number when nothing is left that knew the first one. Their
-- ids differ.
local function start()
  local ke, se = split(last[keys]), split(last[scopes])
  epoch = 1 + math.max(epoch, usable(tonumber(ARGV[1])), usable(ke), usable(se))
  if epoch >= LIMIT then error('epochs are used up', 0) end
  local number = string.format('%.0f', epoch)
  local at = number .. '-0'
  for _, key in ipairs({ keys, scopes }) do
    local prev = last[key]
    if not add(key, at, 'b', prev, ARGV[16]) then
      -- Another program wrote to the stream, above every position that the log will write.
      -- The new epoch gives up all records anyway, so deleting them loses nothing.
      redis.call('DEL', key)
      add(key, at, 'b', prev, ARGV[16])
    end
  end
  h[ID] = ARGV[16]
  redis.call('DEL', meta)
  redis.call('HSET', meta, 'run', run, 'rep', rep, 'ep', number, 'id', h[ID], 'kl', at, 'sl', at,
    'ki', h[ID], 'si', h[ID], 'b', bound, 'hb', time[1], 'kn', ARGV[6], 'sn', ARGV[7], 'v', ARGV[19])
  -- A long field changes the form of the hash for good, also after the field is short again.
  local plain = form()
  redis.call('HSET', meta, 'x', string.rep('x', 8192))
  local made = form()
  h[WIT] = made ~= plain and made or '-' -- '-': the server has only one form, or denies OBJECT
  redis.call('HSET', meta, 'x', '', 'wit', h[WIT])
end

-- Reports whether a stream ends as the log left it.
local function intact(key, callers)
  local e, n = split(last[key])
  return last[key] == h[LAST[key]] and lastid[key] == h[LASTID[key]] and e == epoch and n < LIMIT
    and not above(callers, last[key])
end

-- Reports whether another record is at the caller's last position. A record that was trimmed proves
-- nothing. Then the next record does not name the caller's as the one before it.
local function foreign(key, at, id)
  if id == '' then return false end
  if at == last[key] then return id ~= lastid[key] end
  local r = redis.call('XRANGE', key, at, at)[1]
  return r ~= nil and idof(r) ~= id
end

local function replaced()
  return ARGV[13] ~= '' and tonumber(ARGV[1]) == epoch and ARGV[13] ~= h[ID]
end

if epoch == 0 or not same or not h[ID] or replaced()
  or not intact(keys, ARGV[2]) or not intact(scopes, ARGV[3])
  or foreign(keys, ARGV[2], ARGV[14]) or foreign(scopes, ARGV[3], ARGV[15]) then
  start()
end

local function append(key, payload, id)
  if payload == '' then return '' end
  while true do
    local _, n = split(last[key])
    local at = string.format('%.0f-%.0f', epoch, n + 1)
    if add(key, at, 'd', payload, id) then
      redis.call('HSET', meta, field[key][1], at, field[key][2], id)
      return at
    end
    start() -- another program wrote above, and removed it again
  end
end

local kid = append(keys, ARGV[4], ARGV[17])
local sid = append(scopes, ARGV[5], ARGV[18])

local more = 0

-- Reads in chunks, so that a page is bounded in bytes, too: a record has from a few bytes to some
-- millions.
local function page(key, after)
  local out, size, chunk = {}, 0, 10
  if after == last[key] or ARGV[11] == '0' then return out end
  while true do
    local part = redis.call('XRANGE', key, '(' .. after, '+', 'COUNT', chunk)
    for _, r in ipairs(part) do
      out[#out + 1] = r
      size = size + #(r[2][4] or '')
    end
    if #part < chunk then return out end
    if #out >= tonumber(ARGV[11]) or size >= tonumber(ARGV[12]) then
      more = 1
      return out
    end
    after, chunk = part[#part][1], math.min(2 * chunk, 100)
  end
end

local kr, sr = page(keys, ARGV[2]), page(scopes, ARGV[3])
return reply(kr, sr, more, kid, sid)
