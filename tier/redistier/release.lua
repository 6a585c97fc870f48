-- release: release a claim whose load stored nothing. It implements Fill.Over of package tier
-- without a Cell.
--   KEYS[1] cell
--   ARGV[1] Nonce
-- Returns 1 released, 0 no frame of that nonce.
local h = redis.call('GETRANGE', KEYS[1], 0, 32)
-- Another nonce, or none: Keep.
if string.sub(h, 2, 9) ~= ARGV[1] then return 0 end
local kind = string.sub(h, 1, 1)
-- Lease: Drop.
if kind == 'L' then return redis.call('UNLINK', KEYS[1]) end
-- Value: Patch. It stays and may be claimed for refresh again at once.
if kind == 'V' and #h == 33 then
  redis.call('SETRANGE', KEYS[1], 25, '\0\0\0\0\0\0\0\0')
  return 1
end
return 0
