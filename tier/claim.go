package tier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// ErrNonce refuses a claim or a fill with the zero nonce.
var ErrNonce = errors.New("tier: zero nonce")

// Act is what a claim or a fill does to a frame.
type Act uint8

// The acts. The zero Act is ActKeep.
const (
	ActKeep  Act = iota // leave it as it is
	ActPut              // store Change.Frame, which lives for Change.TTL from now
	ActPatch            // store Change.Frame, and keep its expiry
	ActDrop             // remove it
)

// Change is the change to the frame under a key. The zero Change keeps the frame.
type Change struct {
	Act   Act           // zero means the frame is kept
	Frame []byte        // of ActPut and ActPatch: the whole frame, which belongs to the caller
	TTL   time.Duration // of ActPut: in whole milliseconds, at least one
}

// Over decides about a claim of a key by the rules of [Remote]. Frame is the current frame, nil
// for none. Now is the time of the tier's clock. The answer is for the claim's caller, after the
// change is made. The zero Nonce returns [ErrNonce]; there is no other error.
//
// The tier makes the change only if frame is still there. Otherwise it reads the current frame and
// calls Over again. Over never changes frame.
func (c Claim) Over(frame []byte, now time.Time) (Change, Claimed, error) {
	_, nonce := Head(frame)
	granted := Claimed{Granted: true}
	switch {
	case c.Nonce.IsZero():
		return Change{}, Claimed{}, ErrNonce
	case nonce == c.Nonce: // repeated, or renewed by a long load
		return c.renew(frame, now), granted, nil
	case c.Seen == c.Nonce:
		// This is the renewal of a removed claim. Its load may be older than the removal, so
		// the claim must not come back.
		return Change{}, Claimed{}, nil
	case c.Refresh:
		if nonce.IsZero() || nonce != c.Seen || !refreshable(frame) || refreshUntil(frame) >= now.UnixMilli() {
			return Change{}, Claimed{}, nil
		}
		return c.patch(frame, now), granted, nil
	case c.Look && frame != nil:
	case nonce.IsZero() || nonce == c.Seen:
		return Change{Act: ActPut, Frame: LeaseCell(c.Nonce), TTL: lifetime(c.Lease)}, granted, nil
	}
	return Change{}, Claimed{Cell: bytes.Clone(frame)}, nil
}

// renew restarts the lease of a claim that is still there. A value whose refresh claim has ended was
// filled, or the claim was given back. A late renewal must not mark it as being refreshed.
func (c Claim) renew(frame []byte, now time.Time) Change {
	switch kind, _ := Head(frame); {
	case kind == KindLease:
		return Change{Act: ActPut, Frame: bytes.Clone(frame), TTL: lifetime(c.Lease)}
	case c.Refresh && refreshable(frame) && refreshUntil(frame) != 0:
		return c.patch(frame, now)
	}
	return Change{}
}

// patch writes the claim into the header of a value.
func (c Claim) patch(frame []byte, now time.Time) Change {
	frame = bytes.Clone(frame)
	copy(frame[offNonce:], c.Nonce[:])
	until := now.UnixMilli() + lifetime(c.Lease).Milliseconds()
	binary.BigEndian.PutUint64(frame[RefreshAt:], uint64(until))
	return Change{Act: ActPatch, Frame: frame}
}

// Over decides about a fill of a key by the rules of [Remote]. Frame is the current frame, nil
// for none. It reports whether the frame is stored, or the claim released. The zero Nonce returns
// [ErrNonce]; there is no other error. See [Claim.Over] for how to use it.
func (f Fill) Over(frame []byte) (Change, bool, error) {
	kind, nonce := Head(frame)
	switch {
	case f.Nonce.IsZero():
		return Change{}, false, ErrNonce
	case nonce != f.Nonce:
		return Change{}, false, nil
	case len(f.Cell) > 0:
		return Change{Act: ActPut, Frame: bytes.Clone(f.Cell), TTL: lifetime(f.TTL)}, true, nil
	case kind == KindLease:
		return Change{Act: ActDrop}, true, nil
	case refreshable(frame):
		frame = bytes.Clone(frame)
		clear(frame[RefreshAt:HeaderSize])
		return Change{Act: ActPatch, Frame: frame}, true, nil
	}
	return Change{}, false, nil
}

// Head returns the kind and the nonce of a frame. Both are zero for fewer than nine bytes,
// because any claim may overwrite such a frame.
func Head(frame []byte) (Kind, Nonce) {
	if len(frame) < leaseSize {
		return 0, Nonce{}
	}
	return Kind(frame[0]), Nonce(frame[offNonce:offScope])
}

// refreshable reports whether frame is a value with room for a refresh claim.
func refreshable(frame []byte) bool {
	return len(frame) >= HeaderSize && Kind(frame[0]) == KindValue
}

func refreshUntil(frame []byte) int64 {
	return int64(binary.BigEndian.Uint64(frame[RefreshAt:]))
}

// lifetime rounds up to whole milliseconds, at least one.
func lifetime(d time.Duration) time.Duration {
	if d > math.MaxInt64-time.Millisecond {
		return d.Truncate(time.Millisecond) // rounding up would overflow
	}
	return max((d + time.Millisecond - 1).Truncate(time.Millisecond), time.Millisecond)
}
