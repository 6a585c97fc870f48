-- release: give a claim back that nothing was loaded for.
--   KEYS[1] cell
--   ARGV[1] nonce of the claim
-- Returns 1 released, 0 nothing of that nonce was there.
local h = redis.call('GETRANGE', KEYS[1], 0, 32)
if string.sub(h, 2, 9) ~= ARGV[1] then return 0 end
local kind = string.sub(h, 1, 1)
if kind == 'L' then return redis.call('UNLINK', KEYS[1]) end
if kind == 'V' and #h == 33 then
  -- The value stays and may be claimed for refresh again at once.
  redis.call('SETRANGE', KEYS[1], 25, '\0\0\0\0\0\0\0\0')
  return 1
end
return 0
