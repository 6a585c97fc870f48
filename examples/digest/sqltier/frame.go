package sqltier

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// The places in a frame that a tier rewrites, as package tier fixes them for good.
const (
	nonceAt    = 1
	refreshAt  = 25
	headerSize = refreshAt + 8
)

// change is what a claim or a fill does to a row.
type change struct {
	what  action
	frame []byte
	until int64 // of a put, in ms
}

type action uint8

const (
	leave   action = iota // as it is
	put                   // a frame, with a lifetime of its own
	rewrite               // the frame's header; its lifetime stays
	drop                  // the row
)

// head reads kind and nonce. What is too short for a nonce counts as nothing: any
// claim may overwrite it.
func head(frame []byte) (tier.Kind, tier.Nonce) {
	if len(frame) < nonceAt+tier.NonceSize {
		return 0, tier.Nonce{}
	}
	return tier.Kind(frame[0]), tier.Nonce(frame[nonceAt:])
}

// claim decides about a claim over a frame, by the rules of [tier.Remote].
func claim(frame []byte, c tier.Claim, now time.Time) (change, tier.Claimed) {
	granted := tier.Claimed{Granted: true}
	kind, nonce := head(frame)
	switch {
	case kind == tier.Hold:
		return change{}, tier.Claimed{}
	case nonce == c.Nonce: // repeated, or renewed
		return renew(frame, kind, c, now), granted
	case c.Seen == c.Nonce: // a renewal of what is gone must not bring it back
		return change{}, tier.Claimed{}
	case c.Refresh:
		if !refreshable(frame, kind, nonce, c, now) {
			return change{}, tier.Claimed{}
		}
		return change{what: rewrite, frame: claimedForRefresh(frame, c, now)}, granted
	case nonce.IsZero() || nonce == c.Seen:
		return change{what: put, frame: tier.LeaseCell(c.Nonce), until: after(now, c.Lease)}, granted
	}
	return change{}, tier.Claimed{Cell: frame}
}

// renew starts the lease of a claim anew.
func renew(frame []byte, kind tier.Kind, c tier.Claim, now time.Time) change {
	switch {
	case kind == tier.Lease:
		return change{what: put, frame: frame, until: after(now, c.Lease)}
	case kind == tier.Value && c.Refresh && len(frame) >= headerSize:
		return change{what: rewrite, frame: claimedForRefresh(frame, c, now)}
	}
	return change{}
}

func refreshable(frame []byte, kind tier.Kind, nonce tier.Nonce, c tier.Claim, now time.Time) bool {
	return kind == tier.Value && nonce == c.Seen && !nonce.IsZero() && len(frame) >= headerSize &&
		int64(binary.BigEndian.Uint64(frame[refreshAt:])) < now.UnixMilli()
}

func claimedForRefresh(frame []byte, c tier.Claim, now time.Time) []byte {
	frame = bytes.Clone(frame)
	copy(frame[nonceAt:], c.Nonce[:])
	binary.BigEndian.PutUint64(frame[refreshAt:], uint64(after(now, c.Lease)))
	return frame
}

// fill decides about a fill of a frame, by the rules of [tier.Remote].
func fill(frame []byte, f tier.Fill, now time.Time) (change, bool) {
	kind, nonce := head(frame)
	switch {
	case nonce != f.Nonce:
		return change{}, false
	case len(f.Cell) > 0:
		return change{what: put, frame: f.Cell, until: after(now, f.TTL)}, true
	case kind == tier.Lease:
		return change{what: drop}, true
	case kind == tier.Value && len(frame) >= headerSize:
		frame = bytes.Clone(frame)
		clear(frame[refreshAt:headerSize])
		return change{what: rewrite, frame: frame}, true
	}
	return change{}, false
}

// after returns now+d in ms, rounded up, and at least the next one.
func after(now time.Time, d time.Duration) int64 {
	const ms = int64(time.Millisecond)
	at := now.UnixNano() + max(int64(d), 1)
	return (at + ms - 1) / ms
}
