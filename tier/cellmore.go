package tier

import (
	"encoding/binary"
	"math"
	"time"
)

// A frame is long when it has fields that the first release did not know: its own lifetimes, or
// many tags. Its byte for the number of tags is longMark, and the extra fields follow. The first
// release takes longMark for a number of tags above its limit, so it refuses the frame and loads.
// All other frames are unchanged, byte by byte.
const (
	shortTags = 64 // the most tags of a frame that is not long
	maxHashes = MaxTags + MaxParts + 1
	longMark  = 0xff // more than shortTags
	moreSize  = 2 + 8 + 8 + 8
)

// maxMillis stands for an infinite duration.
const maxMillis = uint64(math.MaxInt64 / int64(time.Millisecond))

// long reports whether the cell needs a long frame.
func (c *Cell) long() bool {
	return len(c.Tags) > shortTags || c.flags()&^FlagNegative != 0 || c.Keep >= time.Millisecond
}

// appendMore appends the fields of a long frame between longMark and the tags.
func (c *Cell) appendMore(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, uint16(c.hashes())) //nolint:gosec // at most maxHashes
	for _, d := range [...]time.Duration{c.Stale, c.StaleIfError, c.Keep} {
		b = be.AppendUint64(b, uint64(max(d.Milliseconds(), 0)))
	}
	return b
}

// The parts of a built value are behind its tags in the list of hashes: the prefixes, the keys, and a
// word that counts both. A flag says so. A reader that does not know parts takes all of them for tags
// that nothing invalidates.

// flags returns the flags of the frame.
func (c *Cell) flags() Flags {
	if len(c.PartKeys) > 0 {
		return c.Flags | built
	}
	return c.Flags &^ built
}

// hashes returns the length of the frame's list of hashes.
func (c *Cell) hashes() int {
	if len(c.PartKeys) == 0 {
		return len(c.Tags)
	}
	return len(c.Tags) + len(c.PartPrefixes) + len(c.PartKeys) + 1
}

func (c *Cell) appendHashes(b []byte) []byte {
	be := binary.BigEndian
	for _, list := range [...][]uint64{c.Tags, c.PartPrefixes, c.PartKeys} {
		for _, h := range list {
			b = be.AppendUint64(b, h)
		}
	}
	if len(c.PartKeys) > 0 {
		b = be.AppendUint64(b, uint64(len(c.PartPrefixes))<<32|uint64(len(c.PartKeys)))
	}
	return b
}

// parseHashes reads the list of hashes. It reports whether Encode can have written it.
func (c *Cell) parseHashes(b []byte) bool {
	if len(b) == 0 {
		return c.Flags&built == 0
	}
	all := make([]uint64, len(b)/8)
	for i := range all {
		all[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	if c.Flags&built == 0 {
		c.Tags = all
		return len(all) <= MaxTags
	}
	c.Flags &^= built
	n := len(all) - 1
	prefixes, keys := all[n]>>32, all[n]&(1<<32-1)
	if keys == 0 || prefixes+keys > uint64(min(n, MaxParts)) || n-int(prefixes+keys) > MaxTags { //nolint:gosec // at most n
		return false
	}
	from := n - int(keys)         //nolint:gosec // at most n
	first := from - int(prefixes) //nolint:gosec // at most n
	c.Tags = all[:first:first]
	c.PartPrefixes, c.PartKeys = all[first:from:from], all[from:n:n]
	return true
}

// moreTags returns the number of hashes of a long frame; -1 for a truncated frame.
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
