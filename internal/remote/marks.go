package remote

import (
	"time"

	"github.com/twofold-go/twofold/tier"
)

// An ended load that stored nothing leaves a mark in place of its claim: a lease frame with one
// more byte. The processes that waited for the load see that it ended, and that its process did
// not die. Any claim may name the mark and replace it. A claim over a mark, or over a value that
// is not being refreshed, has a nonce that begins with afterEnded: the processes that did not
// see the mark learn the same from that claim.
//
// Only a load that took a part of ClaimTTL leaves a mark. See await for shorter ones.
const (
	// markStays is longer than the pause between two looks of a process that waits.
	MarkStays = 500 * time.Millisecond

	markByte   = 'E'
	AfterEnded = "TF" // the other six bytes of such a nonce are random
)

// EndMark returns the frame that an ended load with a claim leaves.
func EndMark(n tier.Nonce) []byte { return append(tier.LeaseCell(n), markByte) }

// IsEndMark reports whether a lease frame is the mark of an ended load.
func IsEndMark(lease []byte) bool {
	return len(lease) == 2+tier.NonceSize && lease[1+tier.NonceSize] == markByte
}

// Follows reports whether the claim with this nonce was made after another load had ended.
func Follows(n tier.Nonce) bool { return string(n[:len(AfterEnded)]) == AfterEnded }

// Read parses the frame under a key. It returns its nonce, if it has one, and whether a process has claimed the cell:
// the frame is a lease, or a value that is being refreshed. Any claim may overwrite a frame without a
// nonce.
func (s *Seal) Read(raw []byte, key string) (c tier.Cell, nonce tier.Nonce, claimed bool, err error) {
	if len(raw) > tier.NonceSize {
		nonce = tier.Nonce(raw[1 : 1+tier.NonceSize])
	}
	if c, err = s.Parse(raw, key); err == nil {
		claimed = c.Kind == tier.KindLease && !IsEndMark(raw) || c.RefreshUntil != 0
	}
	return c, nonce, claimed, err
}
