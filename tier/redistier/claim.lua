-- claim: request the right to load each key. It implements Claim.Over of package tier, rule by rule;
-- TestScriptsAgreeWithOver compares the two. The keys do not depend on each other.
--   KEYS[i] cell
--   ARGV, four for each key:
--     Seen, or '' for zeros
--     Nonce
--     Lease, ms
--     'c' claim, 'r' claim with Refresh
-- Returns for each key 1 granted, 0 refused without a frame, or the current frame when a 'c' is refused.
local function now() -- ms of the server's clock
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function over(key, seen, own, lease, mode)
  -- Head. Bytes without a nonce have the nonce '' here, like a Seen of zeros. So has a key of another
  -- Redis type: it is no frame, and the SET below replaces it.
  local h = redis.pcall('GETRANGE', key, 0, 32)
  if type(h) == 'table' then
    if not string.find(h.err, 'WRONGTYPE', 1, true) then return h end
    h = ''
  end
  local kind, nonce = string.sub(h, 1, 1), string.sub(h, 2, 9)
  if #nonce < 8 or nonce == '\0\0\0\0\0\0\0\0' then nonce = '' end
  -- Own nonce: the load takes long, or the client library sent the command twice. The lease restarts:
  -- Put of the same frame, or Patch. A value without a refresh claim was filled, or the claim was given
  -- back: it stays as it is.
  if nonce == own then
    if kind == 'L' then
      redis.call('PEXPIRE', key, lease)
    elseif kind == 'V' and mode == 'r' and #h == 33 and string.sub(h, 26, 33) ~= '\0\0\0\0\0\0\0\0' then
      redis.call('SETRANGE', key, 25, struct.pack('>i8', now() + lease))
    end
    return 1
  end
  -- Seen == Nonce: a renewal of a removed claim. It must not come back: its load may be older than
  -- the removal, and could fill.
  if seen == own then return 0 end
  -- Refresh: Patch in place, so the value keeps its lifetime.
  if mode == 'r' then
    if kind ~= 'V' or nonce == '' or nonce ~= seen or #h < 33 then return 0 end
    if struct.unpack('>i8', string.sub(h, 26, 33)) >= now() then return 0 end
    redis.call('SETRANGE', key, 1, own)
    redis.call('SETRANGE', key, 25, struct.pack('>i8', now() + lease))
    return 1
  end
  -- No nonce, or the nonce that the caller saw: Put of a lease.
  if nonce == '' or nonce == seen then
    redis.call('SET', key, 'L' .. own, 'PX', lease)
    return 1
  end
  -- Refused, with the frame.
  return redis.call('GET', key)
end
