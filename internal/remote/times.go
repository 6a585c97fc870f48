package remote

import (
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// RemoteForever is the longest time for which the remote tier keeps a value. Without it a shared
// tier would only grow. A later miss does no harm.
const RemoteForever = 30 * 24 * time.Hour

// Remaining returns the time left until at. It is at most the whole life of the value.
func Remaining(at, born, wall int64) time.Duration {
	if at == math.MaxInt64 {
		return policy.Forever
	}
	return min(Since(at, wall), Since(at, born))
}

// Since returns the time between two moments in milliseconds. It is limited to a century,
// because a frame may contain any number.
func Since(at, born int64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	most := int64(century / time.Millisecond)
	at, born = min(max(at, -1<<60), 1<<60), min(max(born, -1<<60), 1<<60)
	return time.Duration(min(max(at-born, -most), most)) * time.Millisecond
}

// StaleCell returns the fill that makes a key's cell stale. After an error, the fill gives the claim back.
// A value without a TTL carries no Stale time, so it gets the policy's.
func (s *Seal) StaleCell(key string, cell *tier.Cell, claim tier.Nonce, now int64, p *policy.Policy) (tier.Fill, error) {
	keep := Since(cell.HardAt, cell.SoftAt).Milliseconds() // HardAt may be math.MaxInt64
	if cell.SoftAt == math.MaxInt64 {
		m := TermsOf(cell)
		_, hard := m.Grace(p)
		keep = hard.Milliseconds()
	}
	cell.Nonce, cell.RefreshUntil = claim, 0
	cell.SoftAt, cell.HardAt = now, min(cell.HardAt, now+keep)
	b, err := cell.Encode()
	if err != nil {
		return tier.Fill{Nonce: claim}, err
	}
	left := min(lifetimes.Add(max(Since(cell.HardAt, now), time.Millisecond), cell.Keep), RemoteForever)
	return tier.Fill{Nonce: claim, Cell: s.Close(b, key), TTL: left}, nil
}
