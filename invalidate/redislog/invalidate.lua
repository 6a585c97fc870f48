-- Appends to the log what the arguments name, for programs in any language: checks them, and then calls
-- sync, which is sync.lua, as a caller that knows no position and wants no records.
--
-- KEYS  meta hash, key stream, scope stream; then the cell of each key, in the order of their lines
-- ARGV  lines as records have them, such as 'k default:users:v1:42'. 'unlinked' before them says that the
--       caller has removed the cells before, or that there are none.
--
-- Returns the positions of the records of keys and of scopes, '' for none, and the largest bound that a
-- process has used, in ms. After an error nothing was appended, except for one of the server in between.
--
-- Go code sets the words in capitals with a dollar sign.

-- Returns how many bytes the UTF-8 character at i has, 0 for a byte that is not part of one.
local function width(s, i)
  local a, b, c, d = string.byte(s, i, i + 3)
  local function follows(x, from, to) return x ~= nil and x >= from and x <= to end
  if a < 0x80 then return 1 end
  if a >= 0xC2 and a <= 0xDF and follows(b, 0x80, 0xBF) then return 2 end
  if a >= 0xE0 and a <= 0xEF and follows(b, a == 0xE0 and 0xA0 or 0x80, a == 0xED and 0x9F or 0xBF) and follows(c, 0x80, 0xBF) then
    return 3
  end
  if a >= 0xF0 and a <= 0xF4 and follows(b, a == 0xF0 and 0x90 or 0x80, a == 0xF4 and 0x8F or 0xBF)
    and follows(c, 0x80, 0xBF) and follows(d, 0x80, 0xBF) then
    return 4
  end
  return 0
end

-- Returns s with escape(c) in place of each byte that the pattern unsafe matches or that is not UTF-8.
local function spell(s, unsafe, escape)
  if not string.find(s, unsafe) and not string.find(s, '[\128-\255]') then return s end
  local out, i = {}, 1
  while i <= #s do
    local n = width(s, i)
    local c = string.sub(s, i, i + math.max(n, 1) - 1)
    out[#out + 1] = (n == 0 or n == 1 and string.find(c, unsafe)) and escape(c) or c
    i = i + #c
  end
  return table.concat(out)
end

local function isutf8(s) return spell(s, '^$', function() return '' end) == s end

local function char(hex) return string.char(tonumber(hex, 16)) end

-- Returns the text of a line, nil if the log would write it in another way.
local function text(line)
  local s = string.gsub(line, '\\([\\x])(%x?%x?)', function(c, hex)
    if c == '\\' then return '\\' .. hex end
    return #hex == 2 and char(hex) or nil
  end)
  local again = spell(s, '[%z\1-\31\127\\]', function(c)
    return c == '\\' and '\\\\' or string.format('\\x%02x', string.byte(c))
  end)
  if again == line then return s end
end

-- Returns what is wrong with a tenant or a namespace of a key.
local function name(field, s)
  if s == '' then return 'has an empty ' .. field end
  if string.find(s, '[%z\1-\31\127{}]') or string.find(s, '\194[\128-\159]') or not isutf8(s) then
    return 'has a control character, a brace or a byte that is not UTF-8 in its ' .. field
  end
end

-- Returns what is wrong with the key of a tenant.
local function key(tenant, s)
  if #s > $MAXKEY then return 'has a key of ' .. #s .. ' bytes, at most $MAXKEY' end
  local namespace, id = string.match(string.sub(s, #tenant + 2), '^(.*):([^:]*)$')
  if not namespace then return 'has no namespace: write k tenant:namespace:id' end
  local bad = name('tenant', tenant) or name('namespace', namespace)
  if bad then return bad end
  if string.find(':' .. namespace .. ':', '::', 1, true) then return 'has an empty part in its namespace' end
  if id == '' then return 'has an empty id' end
  local plain = string.gsub(id, '%%(%x%x)', char)
  if id ~= spell(plain, '[%z\1-\32\127%%:{}]', function(c) return string.format('%%%02X', string.byte(c)) end) then
    return 'has an id with a wrong escape: write a control byte, a space, % : { } and a byte that is not UTF-8 as % and two capital hex digits, and nothing else'
  end
end

-- Reads a line. Returns what is wrong with it, or nil, whether it belongs to the stream of keys, and its text.
local function read(line)
  local kind, soft, rest = string.match(line, '^([kpta])(~?)(.*)$')
  if not kind then return 'begins with none of k, p, t and a' end
  if kind == 'a' then return rest ~= '' and 'has something after ' .. kind .. soft or nil, false, '' end
  if string.sub(rest, 1, 1) ~= ' ' then return 'has no space after ' .. kind .. soft end
  local s = text(string.sub(rest, 2))
  if not s then
    return 'has a wrong escape: write \\\\ for a backslash, \\x and two small hex digits for a control byte or one that is not UTF-8, and nothing else so'
  end
  local tenant, of = string.match(s, '^([^:]*):(.*)$')
  if not tenant then return 'has no colon after its tenant' end
  if tenant == '' then return 'has an empty tenant: that of caches which name none is default' end
  if kind == 'k' then return key(tenant, s), soft == '', s end
  if kind == 'p' then return #s > $MAXKEY and 'has a prefix of ' .. #s .. ' bytes, at most $MAXKEY' or nil, false, s end
  if #tenant > $MAXKEY then return 'has a tenant of ' .. #tenant .. ' bytes, at most $MAXKEY' end
  if of == '' then return 'has an empty tag' end
  if #of > $MAXTAG then return 'has a tag of ' .. #of .. ' bytes, at most $MAXTAG' end
  return not isutf8(of) and 'has a tag that is not UTF-8' or nil, false, s
end

local function refuse(why) return redis.error_reply('TWOFOLD ' .. why) end

local function invalidate(KEYS, ARGV)
  local log = string.match(KEYS[1] or '', '^({[^{}]+}):m$')
  if not log or KEYS[2] ~= log .. ':k' or KEYS[3] ~= log .. ':s' then
    return refuse('the first three keys are not those of a log: pass {prefix}:m {prefix}:k {prefix}:s')
  end
  local unlinked = ARGV[1] == 'unlinked'
  local lines, size, cells = { {}, {} }, { 0, 0 }, 3
  for i = unlinked and 2 or 1, #ARGV do
    local bad, iskey, s = read(ARGV[i])
    if iskey and not bad and not unlinked then
      cells = cells + 1
      local cell = KEYS[cells]
      local at = cell and string.find(cell, ':v:', 2, true)
      if not cell then
        bad = 'names a key without its cell: pass the cell as key ' .. cells .. ', or unlinked as the first argument after you have removed the cell'
      elseif not at or string.sub(cell, at + 3) ~= s then
        bad = 'does not name the key of the cell that is key ' .. cells .. ': a cell is prefix:v:key'
      end
    end
    if bad then return refuse('argument ' .. i .. ' ' .. bad) end
    local of = iskey and 1 or 2
    table.insert(lines[of], ARGV[i])
    size[of] = size[of] + #s - (string.sub(ARGV[i], 1, 1) == 't' and 1 or 0) -- the colon of a tag is not part of its text
  end
  local most = math.max(#lines[1], #lines[2])
  if most == 0 then return refuse('no argument names anything: pass lines such as t default:org:7') end
  if most > $MAXFENCES or math.max(size[1], size[2]) > $MAXTEXT then
    return refuse('the arguments do not fit into one record: at most $MAXFENCES keys, and as many others, of $MAXTEXT bytes: split the call')
  end
  if #KEYS ~= cells then return refuse('there are ' .. #KEYS - 3 .. ' cells for ' .. cells - 3 .. ' keys') end
  if cells > 3 + $MAXCELLS then return refuse('there are more than $MAXCELLS cells: split the call') end

  -- Scripts have no random numbers: theirs are the same in each run. An id is a hash of what never
  -- repeats: the server's process, the commands that it has run so far, and the time.
  local server, stats, time = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'stats'), redis.call('TIME')
  if type(server) ~= 'string' or type(stats) ~= 'string' then
    return refuse('scripts cannot read INFO: allow it to the user')
  end
  local function id(of)
    local hex = redis.sha1hex(of .. server .. stats .. time[1] .. ' ' .. time[2])
    return (string.gsub(string.sub(hex, 1, 16), '..', char))
  end

  local noted = redis.call('HMGET', KEYS[1], 'kn', 'sn')
  local r = sync(KEYS, { '0', '0-0', '0-0', table.concat(lines[1], '\n'), table.concat(lines[2], '\n'),
    noted[1] or '$KEYRETENTION', noted[2] or '$SCOPERETENTION', '', '', '0', '0', '0', '', '', '', id('e'), id('k'), id('s'), '$VERSION' })
  if #r == 0 then return refuse('scripts cannot read INFO: allow it to the user') end
  if #r == 1 then return refuse('the log has version ' .. r[1] .. ' and this text writes $VERSION: load the text of the programs that use the log') end
  return { r[4], r[5], tonumber(r[7]) }
end

if redis.register_function then
  redis.register_function('twofold_invalidate', invalidate)
else
  return invalidate(KEYS, ARGV)
end
