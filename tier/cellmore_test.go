package tier_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/tier"
)

const sizeMore = 26 // the extra bytes of a long frame

func long() tier.Cell {
	c := example()
	c.Flags |= tier.FlagOwnStale
	c.Stale, c.StaleIfError, c.Keep = time.Second, math.MaxInt64, 24*time.Hour
	return c
}

// The layout of long frames is a contract with other versions, like the layout of short ones.
func TestLongCellLayout(t *testing.T) {
	b := encode(t, long())
	head := encode(t, example())[:offFlags]
	want := string(head) + "\x03" + "\x00\x00\x01\x8b\xcf\xe6\x52\x60" + "\x00\x00\x00\x2a" +
		"\xff" + "\x00\x03" +
		"\x00\x00\x00\x00\x00\x00\x03\xe8" + "\x00\x00\x08\x63\x7b\xd0\x5a\xf6" + "\x00\x00\x00\x00\x05\x26\x5c\x00" +
		strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\xff", 8)
	if got := string(b[:min(len(b), len(want))]); got != want {
		t.Errorf("header\n%x, want\n%x", got, want)
	}
	got, err := tier.ParseCell(b)
	if diff := cmp.Diff(long(), got); err != nil || diff != "" {
		t.Errorf("ParseCell = %v (-want +got):\n%s", err, diff)
	}
}

// Only a cell that a short frame cannot express has a long one. The previous release takes byte
// 46 for the number of tags and refuses more than 64, so it refuses every long frame.
func TestCellsAreLongAtNeed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *tier.Cell)
		long   bool
	}{
		{"as before", func(*tier.Cell) {}, false},
		{"64 tags", func(c *tier.Cell) { c.Tags = make([]uint64, 64) }, false},

		{"a Stale of its own", func(c *tier.Cell) { c.Flags |= tier.FlagOwnStale }, true},
		{"kept", func(c *tier.Cell) { c.Keep = time.Millisecond }, true},
		{"kept for less than the frame can say", func(c *tier.Cell) { c.Keep = time.Millisecond - 1 }, false},
		{"below zero", func(c *tier.Cell) { c.Keep = -time.Hour }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := example()
			tc.change(&c)
			b := encode(t, c)
			got, want := b[offTags] == 0xff, tc.long
			if got != want || !got && int(b[offTags]) != len(c.Tags) {
				t.Errorf("byte %d is %d with %d tags, want a long frame: %v", offTags, b[offTags], len(c.Tags), want)
			}
			if back, err := tier.ParseCell(b); err != nil || len(back.Tags) != len(c.Tags) {
				t.Errorf("ParseCell = %d tags, %v; want %d", len(back.Tags), err, len(c.Tags))
			}
		})
	}
}

// Bytes that Encode does not write are not a frame, even with the right checksum.
func TestLongCellRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cell   tier.Cell
		change func(b []byte)
	}{
		{"as it is", long(), nil},
		{"too many tags", long(), func(b []byte) { binary.BigEndian.PutUint16(b[offTags+1:], tier.MaxTags+1) }},
		{"longer than for ever", long(), func(b []byte) { b[offTags+3] = 1 }},
		{"long at no need", long(), func(b []byte) {
			b[offFlags] = byte(tier.FlagNegative)
			clear(b[offTags+3 : offTags+1+sizeMore])
		}},
		{"short, with what needs a long one", example(), func(b []byte) { b[offFlags] |= byte(tier.FlagOwnStale) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cell.Payload = make([]byte, 8*tier.MaxTags+1000) // long enough that nothing is truncated
			b := encode(t, tc.cell)
			if tc.change != nil {
				tc.change(b)
				sign(b, len(b)-len(tc.cell.Payload)-4)
			}
			_, err := tier.ParseCell(b)
			if tc.change == nil && err != nil || tc.change != nil && !errors.Is(err, tier.ErrCell) {
				t.Errorf("ParseCell = %v", err)
			}
		})
	}
}

// sign corrects the checksum at a place.
func sign(b []byte, at int) {
	table := crc32.MakeTable(crc32.Castagnoli)
	s := crc32.Update(0, table, b[:offNonce])
	s = crc32.Update(s, table, b[offScope:offRefresh])
	s = crc32.Update(s, table, b[offFlags:at])
	binary.BigEndian.PutUint32(b[at:], crc32.Update(s, table, b[at+4:]))
}
