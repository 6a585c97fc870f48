-- claim: request the right to load one key. It implements Claim.Over of package tier, rule by rule;
-- TestScriptsAgreeWithOver compares the two.
--   KEYS[1] cell
--   ARGV[1] Seen, or '' for zeros
--   ARGV[2] Nonce
--   ARGV[3] Lease, ms
--   ARGV[4] 'c' claim, 'r' claim with Refresh
-- Returns 1 granted, 0 refused without a frame, or the current frame when a 'c' is refused.
local function now() -- ms of the server's clock
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
-- Head. Bytes without a nonce have the nonce '' here, like a Seen of zeros. So has a key of another
-- Redis type: it is no frame, and the SET below replaces it.
local h = redis.pcall('GETRANGE', KEYS[1], 0, 32)
if type(h) == 'table' then
  if not string.find(h.err, 'WRONGTYPE', 1, true) then return h end
  h = ''
end
local kind, nonce = string.sub(h, 1, 1), string.sub(h, 2, 9)
if #nonce < 8 or nonce == '\0\0\0\0\0\0\0\0' then nonce = '' end
-- Hold.
if kind == 'H' and #h >= 9 then return 0 end
-- Own nonce: the load takes long, or the client library sent the command twice. The lease restarts:
-- Put of the same frame, or Patch. A value without a refresh claim was filled, or the claim was given
-- back: it stays as it is.
if nonce == ARGV[2] then
  if kind == 'L' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  elseif kind == 'V' and ARGV[4] == 'r' and #h == 33 and string.sub(h, 26, 33) ~= '\0\0\0\0\0\0\0\0' then
    redis.call('SETRANGE', KEYS[1], 25, struct.pack('>i8', now() + ARGV[3]))
  end
  return 1
end
-- Seen == Nonce: a renewal of a removed claim. It must not come back: its load may be older than
-- the removal, and could fill.
if ARGV[1] == ARGV[2] then return 0 end
-- Refresh: Patch in place, so the value keeps its lifetime.
if ARGV[4] == 'r' then
  if kind ~= 'V' or nonce == '' or nonce ~= ARGV[1] or #h < 33 then return 0 end
  if struct.unpack('>i8', string.sub(h, 26, 33)) >= now() then return 0 end
  redis.call('SETRANGE', KEYS[1], 1, ARGV[2])
  redis.call('SETRANGE', KEYS[1], 25, struct.pack('>i8', now() + ARGV[3]))
  return 1
end
-- No nonce, or the nonce that the caller saw: Put of a lease.
if nonce == '' or nonce == ARGV[1] then
  redis.call('SET', KEYS[1], 'L' .. ARGV[2], 'PX', ARGV[3])
  return 1
end
-- Refused, with the frame.
return redis.call('GET', KEYS[1])
