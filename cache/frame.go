package cache

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Frames carry wall-clock times, items the monotonic time of their Tiers. A
// frame from a machine whose clock is ahead may claim an age below zero; it is
// never given more life than it was born with. They count whole milliseconds: who
// writes a frame rounds its times down, who reads it rounds its own up, so that a
// value's life may end two milliseconds early and never late.

// remoteForever is how long the remote tier keeps what never expires. A shared
// tier without expiry only grows; coming back as a miss harms nobody.
const remoteForever = 30 * 24 * time.Hour

// verdict is what a frame is worth to this process.
type verdict uint8

const (
	absent  verdict = iota // nothing there
	leased                 // somebody is loading
	held                   // nobody may cache the key for now
	useless                // a value that must not be served: unreadable, foreign, invalidated, expired
	usable                 // a value, perhaps one that is kept for Previous alone
)

// frame is a cell as read from the remote tier, judged.
type frame[K comparable, V any] struct {
	verdict verdict
	nonce   tier.Nonce // to claim over it
	claimed bool       // somebody has claimed it: a lease, or a value being refreshed
	it      *item[K, V]
}

// judge says what a frame is worth. mark was captured before it was fetched.
func (j *job[K, V]) judge(raw []byte, mark follow.Mark) (f frame[K, V]) {
	if len(raw) == 0 {
		return frame[K, V]{verdict: absent}
	}
	if len(raw) < 1+tier.NonceSize {
		j.v.counts.inc(cellCorrupt)
		return frame[K, V]{verdict: useless} // any claim may overwrite it
	}
	f.nonce = tier.Nonce(raw[1 : 1+tier.NonceSize])
	f.verdict = useless
	cell, err := tier.ParseCell(raw)
	if err != nil {
		j.v.counts.inc(cellCorrupt)
		return f
	}
	f.claimed = cell.Kind == tier.Lease || cell.RefreshUntil != 0
	switch cell.Kind {
	case tier.Lease:
		f.verdict = leased
		return f
	case tier.Hold:
		f.verdict = held
		return f
	case tier.Value:
	}
	if cell.Echo != j.hash || cell.Schema != j.s.schema {
		j.v.counts.inc(cellForeign)
		return f
	}
	filled := follow.Mark{Key: invalidate.Position(cell.KeyPos), Scope: invalidate.Position(cell.ScopePos), Epoch: cell.Epoch}
	fresh, ok := j.t.fences.Accepts(filled, j.hash, j.FullKey(), cell.Tags)
	if !ok && !safeguard.Off(safeguard.Frames) {
		j.v.counts.inc(cellRefused)
		return f
	}
	it, err := j.thaw(&cell, len(raw), mark)
	if err != nil {
		j.v.counts.inc(cellCorrupt)
		return f
	}
	if fresh != follow.Forever && !safeguard.Off(safeguard.Soft) {
		it.expire(fresh)
	}
	if it.keptUntil() <= j.t.now() {
		return f
	}
	f.verdict, f.it = usable, it
	return f
}

// thaw makes an item of a value cell, whose frame has size bytes.
func (j *job[K, V]) thaw(c *tier.Cell, size int, mark follow.Mark) (it *item[K, V], err error) {
	it = j.newItem(mark)
	if len(c.Tags) > 0 {
		it.own().tags = c.Tags
	}
	if c.Flags&tier.Negative != 0 {
		gone := ErrNotFound
		if len(c.Payload) > 0 {
			gone = &RememberedError{Code: string(c.Payload)}
		}
		it.own().err = j.stored(gone)
	} else if err = j.decode(c, &it.val, size); err != nil {
		return nil, err
	}
	wall, now := time.Now().Add(time.Millisecond-1).UnixMilli(), j.t.now()
	it.loadedAt = now - int64(max(since(wall, c.LoadedAt), 0))
	it.loadTime = c.LoadTime
	if c.SoftAt <= c.LoadedAt && c.Flags&tier.Unfresh == 0 { // stale from its birth
		it.own().worn = true
	}
	p := j.p
	l := lifetime{
		soft:  remaining(c.SoftAt, c.LoadedAt, wall),
		hard:  remaining(c.HardAt, c.LoadedAt, wall),
		trust: cmp.Or(p.LocalTTL, policy.Forever),
		ahead: lifetimes.RefreshWindow(c.LoadTime, p.RefreshAhead),
	}
	if it.err == nil {
		it.agree(termsOf(c))
		l.stale, _ = it.said().grace(p)
	}
	it.live(now, l)
	// A Stale of the reader's own policy does not go past what the writer allowed.
	it.hardUntil = after(now, l.hard)
	it.staleUntil = min(it.staleUntil, it.hardUntil)
	return it, nil
}

// remaining returns how long is left until at, at most the whole life.
func remaining(at, born, wall int64) time.Duration {
	if at == math.MaxInt64 {
		return policy.Forever
	}
	return min(since(at, wall), since(at, born))
}

// since returns the time between two moments in milliseconds, a century at most: a frame
// may say anything.
func since(at, born int64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	most := int64(century / time.Millisecond)
	at, born = min(max(at, -1<<60), 1<<60), min(max(born, -1<<60), 1<<60)
	return time.Duration(min(max(at-born, -most), most)) * time.Millisecond
}

// decode turns a payload into a value by the codec that wrote it. A codec that
// panics on what it was given is no reason to fail a read. A frame of size bytes is
// this process's own, so the value may be a part of it; unless it is so small a part
// that the rest would be kept from the garbage collector unseen. What is larger than
// MaxValueBytes allows is refused before memory is allocated for it.
func (j *job[K, V]) decode(c *tier.Cell, v *V, size int) (err error) {
	cd, ok := j.t.codecs.Lookup(c.Codec)
	if !ok {
		return errors.New("cache: unknown codec")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: codec panicked (%T)", p)
		}
	}()
	j.t.seen.valueSize(j.v.counts, sizeIn, len(c.Payload))
	owned := size-len(c.Payload) <= size/8
	return codec.UnmarshalWithin(cd, c.Payload, v, j.p.MaxValueBytes, owned)
}

// freeze returns the cell of an item and how long the tier should keep it.
func (j *job[K, V]) freeze(it *item[K, V], payload encoded, nonce tier.Nonce, mark follow.Mark) ([]byte, time.Duration, error) {
	now, wall := j.t.now(), time.Now()
	at := func(t int64) int64 {
		if t == never {
			return math.MaxInt64
		}
		return wall.Add(time.Duration(t - now)).UnixMilli()
	}
	soft, _, hard := it.times()
	c := tier.Cell{
		Nonce:    nonce,
		ScopePos: uint64(mark.Scope),
		KeyPos:   uint64(mark.Key),
		Epoch:    mark.Epoch,
		SoftAt:   at(soft),
		HardAt:   at(hard),
		LoadedAt: at(it.loadedAt),
		LoadTime: it.loadTime,
		Tags:     it.tags,
		Schema:   j.s.schema,
		Echo:     j.hash,
		Codec:    payload.codec,
		Payload:  payload.data,
	}
	if it.err != nil {
		c.Flags |= tier.Negative
	}
	it.said().into(&c)
	if it.terms != nil && !it.worn && c.SoftAt <= c.LoadedAt {
		c.Flags |= tier.Unfresh
	}
	keep := remoteForever
	if until := it.keptUntil(); until != never {
		keep = min(keep, time.Duration(until-now))
	}
	b, err := c.Encode()
	return b, max(keep, time.Millisecond), err
}
