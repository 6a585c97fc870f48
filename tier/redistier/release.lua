-- release: release each claim whose load stored nothing. It implements Fill.Over of package tier
-- without a Cell. The keys do not depend on each other.
--   KEYS[i] cell
--   ARGV[i] Nonce
-- Returns for each key 1 released, 0 no frame of that nonce.
local function over(key, nonce)
  local h = redis.call('GETRANGE', key, 0, 32)
  -- Another nonce, or none: Keep.
  if string.sub(h, 2, 9) ~= nonce then return 0 end
  local kind = string.sub(h, 1, 1)
  -- Lease: Drop.
  if kind == 'L' then return redis.call('UNLINK', key) end
  -- Value: Patch. It stays and may be claimed for refresh again at once.
  if kind == 'V' and #h == 33 then
    redis.call('SETRANGE', key, 25, '\0\0\0\0\0\0\0\0')
    return 1
  end
  return 0
end
