package tier

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Kind is the type byte of a frame.
type Kind byte

// The kinds of frames.
const (
	KindValue Kind = 'V' // a value or a remembered absence
	KindLease Kind = 'L' // a process is loading the value
)

// Flags of a value frame.
type Flags uint8

// The flags a value frame may carry.
const (
	FlagNegative Flags = 1 << iota // the loader returned "absent"; the payload is an error code or empty
	FlagOwnStale                   // the cell's Stale and StaleIfError replace the reader's policy
	built                          // it has parts; only in frames
)

// NonceSize is the length of a [Nonce] in bytes.
const NonceSize = 8

// Nonce marks one claim or one fill of a cell. The zero Nonce means none.
type Nonce [NonceSize]byte

// NewNonce returns a new random nonce, never zero.
func NewNonce() Nonce {
	for {
		var n Nonce
		_, _ = rand.Read(n[:]) // documented never to fail
		if n != (Nonce{}) {
			return n
		}
	}
}

// IsZero reports whether n is the zero nonce.
func (n Nonce) IsZero() bool { return n == Nonce{} }

// Offsets in the frame, for scripts that run on a remote tier's server.
const (
	HeaderSize = 33 // length of the header; scripts rewrite only bytes before it
	RefreshAt  = 25 // where RefreshUntil begins: eight bytes, big-endian, up to HeaderSize
)

// MaxTags is the most tags that one cell carries. When a value has more, the last tag of its cell
// is invalidate.AnyTag, in place of the rest.
const MaxTags = 256

// MaxParts is the most hashes of parts that one cell carries: of keys and of prefixes together. When
// a value has more, its only part is invalidate.AnyTag, which stands for every key and every prefix.
const MaxParts = 4096

const (
	offNonce   = 1
	offScope   = 9
	offKey     = 17
	offRefresh = RefreshAt
	offFlags   = HeaderSize
	offSoft    = 34
	offLoad    = 42
	offTags    = 46
	offMore    = offTags + 1 // of a long frame
	leaseSize  = 1 + NonceSize
	tailSize   = 8 + 8 + 8 + 8 + 8 + 1 // between the tags and the codec's id
	maxCodecID = 64
)

// Errors of [ParseCell]. All of them wrap [ErrCell].
var (
	ErrCell      = errors.New("tier: unreadable cell")
	ErrTruncated = fmt.Errorf("%w: truncated", ErrCell)
	ErrKind      = fmt.Errorf("%w: unknown type", ErrCell)
	ErrChecksum  = fmt.Errorf("%w: wrong checksum", ErrCell)
)

// Cell is one decoded frame. Times are unix milliseconds, rounded down, so every reader reads the
// same values from a frame.
type Cell struct {
	Kind         Kind          // what the frame is
	Nonce        Nonce         // not zero; compared with the nonce of a Fill or a Claim
	ScopePos     uint64        // scope-log position before the load began
	KeyPos       uint64        // key-log position before the load began
	RefreshUntil int64         // ms of the tier's clock; a refresh claim is refused until then
	Flags        Flags         //
	SoftAt       int64         // fresh until, unix ms
	HardAt       int64         // servable in any way until, unix ms
	LoadedAt     int64         // when the load began, unix ms
	LoadTime     time.Duration // at millisecond precision, at most ~49 days
	Stale        time.Duration // how long it may be served after SoftAt; only with FlagOwnStale
	StaleIfError time.Duration // how long after that in place of a failed load; only with FlagOwnStale
	Keep         time.Duration // how long after HardAt a load that replaces it may read it; it is not served then
	Tags         []uint64      // hashes, at most MaxTags
	PartKeys     []uint64      // hashes of the keys that it was built from; with PartPrefixes at most MaxParts
	PartPrefixes []uint64      // hashes of the prefixes of those keys that end with a colon; only with PartKeys
	Schema       uint64        // fingerprint of the value's type
	Echo         uint64        // hash of the full key
	Epoch        uint64        // id of the log's epoch of the positions; 0 if the positions are of a clock
	Codec        string        // id of the codec that wrote Payload
	Payload      []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// LeaseCell returns the frame of a lease that carries n.
func LeaseCell(n Nonce) []byte { return append([]byte{byte(KindLease)}, n[:]...) }

// Encode returns the frame of a value cell in a new slice. These are errors: more than [MaxTags]
// tags, more than [MaxParts] hashes of parts, prefixes without keys, and a codec id that is empty
// or longer than 64 bytes.
func (c *Cell) Encode() ([]byte, error) {
	if len(c.Tags) > MaxTags {
		return nil, fmt.Errorf("tier: encode cell: %d tags, at most %d", len(c.Tags), MaxTags)
	}
	if n := len(c.PartKeys) + len(c.PartPrefixes); n > MaxParts || n > 0 && len(c.PartKeys) == 0 {
		return nil, fmt.Errorf("tier: encode cell: %d keys and %d prefixes of parts, at most %d and not only prefixes",
			len(c.PartKeys), len(c.PartPrefixes), MaxParts)
	}
	if n := len(c.Codec); n == 0 || n > maxCodecID {
		return nil, fmt.Errorf("tier: encode cell: codec id of %d bytes, want 1 to %d", n, maxCodecID)
	}
	size := offMore + moreSize + 8*c.hashes() + tailSize + len(c.Codec) + 4 + len(c.Payload)
	if !c.long() {
		size -= moreSize
	}
	b := make([]byte, 0, size)
	b = append(b, byte(KindValue))
	b = append(b, c.Nonce[:]...)
	be := binary.BigEndian
	b = be.AppendUint64(b, c.ScopePos)
	b = be.AppendUint64(b, c.KeyPos)
	b = be.AppendUint64(b, uint64(c.RefreshUntil))
	b = append(b, byte(c.flags()))
	b = be.AppendUint64(b, uint64(c.SoftAt))
	b = be.AppendUint32(b, loadMillis(c.LoadTime))
	if c.long() {
		b = c.appendMore(append(b, longMark))
	} else {
		b = append(b, byte(len(c.Tags)))
	}
	b = c.appendHashes(b)
	b = be.AppendUint64(b, uint64(c.HardAt))
	b = be.AppendUint64(b, uint64(c.LoadedAt))
	b = be.AppendUint64(b, c.Schema)
	b = be.AppendUint64(b, c.Echo)
	b = be.AppendUint64(b, c.Epoch)
	b = append(b, byte(len(c.Codec)))
	b = append(b, c.Codec...)
	b = be.AppendUint32(b, checksum(b, c.Payload))
	return append(b, c.Payload...), nil
}

// ParseCell decodes a frame and checks it. Payload aliases b. ParseCell never panics. It
// allocates only one slice of tags and parts, and the codec's id unless that is one of this library's ids.
func ParseCell(b []byte) (Cell, error) {
	if len(b) < leaseSize {
		return Cell{}, ErrTruncated
	}
	c := Cell{Kind: Kind(b[0]), Nonce: Nonce(b[offNonce:offScope])}
	switch c.Kind {
	case KindLease:
		return c, nil
	case KindValue:
	default:
		return Cell{}, ErrKind
	}
	if len(b) <= offTags {
		return Cell{}, ErrTruncated
	}
	be := binary.BigEndian
	ntags, tags := int(b[offTags]), offMore
	if ntags == longMark {
		if ntags, tags = moreTags(b), offMore+moreSize; ntags < 0 {
			return Cell{}, ErrTruncated
		}
	} else if ntags > shortTags {
		return Cell{}, ErrTruncated
	}
	tail := tags + 8*ntags
	if ntags > maxHashes || len(b) < tail+tailSize {
		return Cell{}, ErrTruncated
	}
	id := tail + tailSize
	sum := id + int(b[id-1])
	if len(b) < sum+4 {
		return Cell{}, ErrTruncated
	}
	if checksum(b[:sum], b[sum+4:]) != be.Uint32(b[sum:]) {
		return Cell{}, ErrChecksum
	}
	c.ScopePos = be.Uint64(b[offScope:])
	c.KeyPos = be.Uint64(b[offKey:])
	c.RefreshUntil = int64(be.Uint64(b[offRefresh:]))
	c.Flags = Flags(b[offFlags])
	c.SoftAt = int64(be.Uint64(b[offSoft:]))
	c.LoadTime = time.Duration(be.Uint32(b[offLoad:])) * time.Millisecond
	if !c.parseHashes(b[tags:tail]) {
		return Cell{}, ErrCell
	}
	c.HardAt = int64(be.Uint64(b[tail:]))
	c.LoadedAt = int64(be.Uint64(b[tail+8:]))
	c.Schema = be.Uint64(b[tail+16:])
	c.Echo = be.Uint64(b[tail+24:])
	c.Epoch = be.Uint64(b[tail+32:])
	c.Codec = codecID(b[id:sum])
	c.Payload = b[sum+4:]
	long := tags != offMore
	if long && !c.parseMore(b[offMore:]) || long != c.long() {
		return Cell{}, ErrCell
	}
	return c, nil
}

// codecID returns b as a string. It allocates nothing for the ids that most cells have.
func codecID(b []byte) string {
	for _, id := range [...]string{"json", "cbor", "raw", "json+snappy", "cbor+snappy", "raw+snappy", "json+deflate", "cbor+deflate", "raw+deflate"} {
		if string(b) == id { // compares without an allocation
			return id
		}
	}
	return string(b)
}

// checksum covers header (which ends before the sum) and payload, except for the two fields that
// the remote tier rewrites in place.
func checksum(header, payload []byte) uint32 {
	s := crc32.Update(0, castagnoli, header[:offNonce])
	s = crc32.Update(s, castagnoli, header[offScope:offRefresh])
	s = crc32.Update(s, castagnoli, header[offFlags:])
	return crc32.Update(s, castagnoli, payload)
}

func loadMillis(d time.Duration) uint32 {
	ms := d.Milliseconds()
	return uint32(min(max(ms, 0), 1<<32-1))
}
