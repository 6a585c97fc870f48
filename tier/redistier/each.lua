-- The end of each script: call its function, over, for every key with the key's part of ARGV. An error
-- at one key is the answer for that key. The answer for a single key is no array.
local n = #ARGV / #KEYS
if #KEYS == 1 then return over(KEYS[1], unpack(ARGV)) end
local out = {}
for i, key in ipairs(KEYS) do
  local ok, answer = pcall(over, key, unpack(ARGV, (i - 1) * n + 1, i * n))
  if not ok and type(answer) ~= 'table' then answer = {err = tostring(answer)} end
  out[i] = answer
end
return out
