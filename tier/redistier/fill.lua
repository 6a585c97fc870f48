-- fill: store a frame if the claim still stands.
--   KEYS[1] cell
--   ARGV[1] nonce of the claim
--   ARGV[2] frame
--   ARGV[3] lifetime, ms
-- Returns 1 stored, 0 not: somebody else claimed, or the cell was unlinked.
if string.sub(redis.call('GETRANGE', KEYS[1], 0, 8), 2, 9) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
