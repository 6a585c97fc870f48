package tier

import (
	"encoding/binary"
	"math"
	"time"
)

// A frame is long when it has fields that the first release did not know: lifetimes of its own,
// or many tags. Its byte for the number of tags is longMark, and the extra fields follow. The
// first release takes longMark for a number of tags above its limit, so it refuses the frame and
// loads. All other frames are unchanged, byte by byte.
const (
	shortTags = 64   // the most tags of a frame that is not long
	longMark  = 0xff // more than shortTags
	moreSize  = 2 + 8 + 8 + 8
)

// maxMillis stands for an infinite duration.
const maxMillis = uint64(math.MaxInt64 / int64(time.Millisecond))

// long reports whether the cell needs a long frame.
func (c *Cell) long() bool {
	return len(c.Tags) > shortTags || c.Flags&^Negative != 0 || c.Keep >= time.Millisecond
}

// appendMore appends the fields of a long frame between longMark and the tags.
func (c *Cell) appendMore(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, uint16(len(c.Tags))) //nolint:gosec // at most MaxTags
	for _, d := range [...]time.Duration{c.Stale, c.StaleIfError, c.Keep} {
		b = be.AppendUint64(b, uint64(max(d.Milliseconds(), 0)))
	}
	return b
}

// moreTags returns the number of tags of a long frame; -1 for a truncated frame.
func moreTags(b []byte) int {
	if len(b) < offMore+moreSize {
		return -1
	}
	return int(binary.BigEndian.Uint16(b[offMore:]))
}

// parseMore reads the durations after longMark. It reports whether Encode can have written them.
func (c *Cell) parseMore(b []byte) bool {
	for i, d := range [...]*time.Duration{&c.Stale, &c.StaleIfError, &c.Keep} {
		ms := binary.BigEndian.Uint64(b[2+8*i:])
		switch {
		case ms > maxMillis:
			return false
		case ms == maxMillis:
			*d = math.MaxInt64
		default:
			*d = time.Duration(ms) * time.Millisecond //nolint:gosec // less than maxMillis
		}
	}
	return true
}
