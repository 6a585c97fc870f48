package codec

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// jsonItems reads JSON.
type jsonItems struct{ rest []byte }

func readJSON(data []byte) items {
	if nests(data) > jsonDepth {
		return nil
	}
	return &jsonItems{data}
}

func (j *jsonItems) next() (itemKind, int) {
	j.space()
	if len(j.rest) == 0 {
		return null, 0
	}
	switch j.rest[0] {
	case '[':
		j.rest = j.rest[1:]
		return list, 0
	case '{':
		j.rest = j.rest[1:]
		return dict, 0
	case '"':
		j.text()
		return scalar, 0
	case 'n':
		j.word()
		return null, 0
	}
	j.word()
	return scalar, 0
}

func (j *jsonItems) name(wanted bool) []byte {
	j.space()
	if len(j.rest) == 0 || j.rest[0] != '"' {
		return nil
	}
	name := j.text()
	if wanted && bytes.IndexByte(name, '\\') >= 0 {
		var plain string
		_ = json.Unmarshal(name, &plain) // the decoder will refuse it
		return []byte(plain)
	}
	return bytes.Trim(name, `"`)
}

// space skips white space, commas and colons.
func (j *jsonItems) space() {
	for len(j.rest) > 0 {
		switch j.rest[0] {
		case ' ', '\t', '\r', '\n', ',', ':':
			j.rest = j.rest[1:]
		default:
			return
		}
	}
}

func (j *jsonItems) more(int) bool {
	j.space()
	if len(j.rest) == 0 {
		return false
	}
	if c := j.rest[0]; c == ']' || c == '}' {
		j.rest = j.rest[1:]
		return false
	}
	return true
}

// word reads a number or a literal: at least one byte.
func (j *jsonItems) word() {
	for i := 1; i < len(j.rest); i++ {
		switch j.rest[i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t', ':', '"', '[', '{':
			j.rest = j.rest[i:]
			return
		}
	}
	j.rest = nil
}

// text reads a string, and returns it with its quotes.
func (j *jsonItems) text() (quoted []byte) {
	end := 1
	for end < len(j.rest) && j.rest[end] != '"' {
		if j.rest[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end+1, len(j.rest))
	quoted, j.rest = j.rest[:end], j.rest[end:]
	return quoted
}

// cborItems reads well-formed CBOR.
type cborItems struct{ rest []byte }

func readCBOR(data []byte) items {
	if cborDec.Wellformed(data) != nil {
		return nil
	}
	return &cborItems{data}
}

func (c *cborItems) next() (itemKind, int) {
	major, size, arg := cborHead(c.rest)
	first := c.rest[0]
	for major == majorTag {
		c.rest = c.rest[size:]
		major, size, arg = cborHead(c.rest)
		first = c.rest[0]
	}
	c.rest = c.rest[size:]
	switch major {
	case majorBytes, majorText:
		c.rest = c.rest[arg:]
	case majorArray:
		return list, int(arg) //nolint:gosec // at most cborElements
	case majorMap:
		return dict, int(arg) //nolint:gosec // at most cborElements
	}
	if first == cborNull || first == cborUndefined {
		return null, 0
	}
	return scalar, 0
}

func (*cborItems) more(left int) bool { return left > 0 }

func (c *cborItems) name(wanted bool) (name []byte) {
	major, size, arg := cborHead(c.rest)
	switch n := int64(arg); { //nolint:gosec // a name is short
	case !wanted:
	case major == majorText:
		name = c.rest[size:][:arg]
	case major == majorUint:
		name = strconv.AppendInt([]byte(numberName), n, 10)
	case major == majorNegative:
		name = strconv.AppendInt([]byte(numberName), -1-n, 10)
	}
	for items := 1; items > 0; items-- { // the name may be a list
		switch kind, left := c.next(); kind {
		case list:
			items += left
		case dict:
			items += 2 * left
		case null, scalar:
		}
	}
	return name
}
