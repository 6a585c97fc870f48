-- claim: ask for the right to load one key.
--   KEYS[1] cell
--   ARGV[1] nonce of the frame the caller saw, or ''; his own, to renew
--   ARGV[2] nonce of the caller's own
--   ARGV[3] lease, ms
--   ARGV[4] 'c' claim, 'r' claim for refresh
-- Returns 1 granted, 0 refused, or the frame that stands in the way of a 'c'.
local function now() -- ms of the server's clock
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local h = redis.call('GETRANGE', KEYS[1], 0, 32)
local kind, nonce = string.sub(h, 1, 1), string.sub(h, 2, 9)
-- What carries no nonce is nobody's and may be overwritten.
if #nonce < 8 or nonce == '\0\0\0\0\0\0\0\0' then nonce = '' end
if kind == 'H' and #h >= 9 then return 0 end
-- The claim is ours already: the load takes long, or the client library sent
-- the command twice. The lease starts anew.
if nonce == ARGV[2] then
  if kind == 'L' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  elseif kind == 'V' and ARGV[4] == 'r' and #h == 33 then
    redis.call('SETRANGE', KEYS[1], 25, struct.pack('>i8', now() + ARGV[3]))
  end
  return 1
end
-- To renew is to have a claim: one that was removed must not come back, or its
-- load, which may be older than the removal, could fill after all.
if ARGV[1] == ARGV[2] then return 0 end
if ARGV[4] == 'r' then
  if kind ~= 'V' or nonce == '' or nonce ~= ARGV[1] or #h < 33 then return 0 end
  if struct.unpack('>i8', string.sub(h, 26, 33)) >= now() then return 0 end
  -- In place: the value keeps its lifetime, and the readers their value.
  redis.call('SETRANGE', KEYS[1], 1, ARGV[2])
  redis.call('SETRANGE', KEYS[1], 25, struct.pack('>i8', now() + ARGV[3]))
  return 1
end
if nonce == '' or nonce == ARGV[1] then
  redis.call('SET', KEYS[1], 'L' .. ARGV[2], 'PX', ARGV[3])
  return 1
end
return redis.call('GET', KEYS[1])
