-- fill: store each frame whose claim is still there. It implements Fill.Over of package tier with a
-- Cell. The keys do not depend on each other.
--   KEYS[i] cell
--   ARGV, three for each key:
--     Nonce
--     Cell
--     TTL, ms
-- Returns for each key 1 stored, 0 not: another process has claimed, or the cell was unlinked.
local function over(key, nonce, cell, ttl)
  -- Another nonce, or none: Keep.
  if string.sub(redis.call('GETRANGE', key, 0, 8), 2, 9) ~= nonce then return 0 end
  -- Put.
  redis.call('SET', key, cell, 'PX', ttl)
  return 1
end
