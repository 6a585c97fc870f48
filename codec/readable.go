package codec

import (
	"time"
	"unicode/utf8"
)

// readable checks what the encoder accepts and the decoder refuses: depth, counts, text that is not
// UTF-8, and a time that RFC 3339 cannot spell. Otherwise such a value would be stored, and every read of it would miss.
func readable(data []byte) error {
	if err := cborDec.Wellformed(data); err != nil {
		return err
	}
	// Without indefinite lengths, the items of well-formed CBOR follow one another at any
	// nesting.
	for tagged := false; len(data) > 0; {
		major, size, arg := cborHead(data)
		data = data[size:]
		isTime := tagged && major == majorText
		tagged = major == majorTag && arg == 0
		if major != majorBytes && major != majorText {
			continue
		}
		if major == majorText && !utf8.Valid(data[:arg]) {
			return errUTF8
		}
		if isTime {
			if _, err := time.Parse(time.RFC3339, string(data[:arg])); err != nil {
				return err
			}
		}
		data = data[arg:]
	}
	return nil
}

const (
	majorUint     = 0
	majorNegative = 1
	majorBytes    = 2
	majorText     = 3
	majorArray    = 4
	majorMap      = 5
	majorTag      = 6

	cborNull      = 0xf6
	cborUndefined = 0xf7
)

// cborHead returns the head of a well-formed item (RFC 8949, section 3): its major type, its size
// in bytes and its argument.
func cborHead(data []byte) (major byte, size int, arg uint64) {
	major, info := data[0]>>5, data[0]&31
	if info < 24 {
		return major, 1, uint64(info)
	}
	size = 1 + 1<<(info-24)
	for _, b := range data[1:size] {
		arg = arg<<8 | uint64(b)
	}
	return major, size, arg
}
