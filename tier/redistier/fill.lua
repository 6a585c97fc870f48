-- fill: store a frame if the claim is still there. It implements Fill.Over of package tier with a
-- Cell.
--   KEYS[1] cell
--   ARGV[1] Nonce
--   ARGV[2] Cell
--   ARGV[3] TTL, ms
-- Returns 1 stored, 0 not: another process has claimed, or the cell was unlinked.
-- Another nonce, or none: Keep.
if string.sub(redis.call('GETRANGE', KEYS[1], 0, 8), 2, 9) ~= ARGV[1] then return 0 end
-- Put.
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
