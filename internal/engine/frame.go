package engine

import (
	"cmp"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/failure"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/wire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// A frame carries wall-clock times, in whole milliseconds. An item carries the monotonic time of
// its Tiers. If the writer's clock is ahead, the value's age may seem negative; it still gets no
// more life than it was born with. The writer of a frame rounds its times down, the reader
// rounds its own time up. So a value's life may end two milliseconds early, never late.

// verdict says how this process may use a frame.
type verdict uint8

const (
	absent  verdict = iota // no cell
	leased                 // another process is loading
	held                   // no process may cache the key now
	useless                // must not be served: unreadable, foreign, invalidated or expired
	usable                 // a value, perhaps kept only for Previous
)

// frame is a judged cell from the remote tier.
type frame struct {
	verdict verdict
	nonce   tier.Nonce // a claim over this cell must name it
	claimed bool       // claimed by a process: a lease, or a value that is being refreshed
	ended   bool       // not claimed: the mark of an ended load, or a value
	it      *entry.Entry
}

// judge returns the verdict on a frame. mark was captured before the fetch.
func (j *Job) judge(raw []byte, mark fence.Mark) (f frame) {
	if len(raw) == 0 {
		return frame{verdict: absent}
	}
	cell, nonce, claimed, err := wire.Read(raw)
	f = frame{verdict: useless, nonce: nonce}
	if err != nil {
		j.v.counts.Inc(measure.CellCorrupt)
		return f
	}
	f.claimed, f.ended = claimed, !claimed
	switch cell.Kind {
	case tier.Lease:
		if f.claimed {
			f.verdict = leased
		}
		return f
	case tier.Hold:
		f.verdict = held
		return f
	case tier.Value:
	}
	if cell.Echo != j.hash || cell.Schema != j.v.Schema {
		j.v.counts.Inc(measure.CellForeign)
		return f
	}
	filled := fence.Mark{Key: invalidate.Position(cell.KeyPos), Scope: invalidate.Position(cell.ScopePos), Epoch: cell.Epoch}
	fresh, ok := j.t.fences.Accepts(filled, j.hash, j.FullKey(),
		&fence.Deps{Tags: cell.Tags, Keys: cell.PartKeys, Prefixes: cell.PartPrefixes})
	if !ok && !safeguard.Off(safeguard.Frames) {
		j.v.counts.Inc(measure.CellRefused)
		return f
	}
	it, err := j.thaw(&cell, len(raw), mark)
	if err != nil {
		j.v.counts.Inc(measure.CellCorrupt)
		return f
	}
	if fresh != fence.Forever && !safeguard.Off(safeguard.Soft) {
		it.Expire(fresh)
	}
	if it.KeptUntil() <= j.t.now() {
		return f
	}
	f.verdict, f.it = usable, it
	return f
}

// thaw makes an item of a value cell, whose frame has size bytes.
func (j *Job) thaw(c *tier.Cell, size int, mark fence.Mark) (it *entry.Entry, err error) {
	it = j.take(mark)
	if len(c.Tags)+len(c.PartKeys) > 0 {
		it.Own().Deps = fence.Deps{Tags: c.Tags, Keys: c.PartKeys, Prefixes: c.PartPrefixes}
	}
	if c.Flags&tier.Negative != 0 {
		gone := failure.ErrNotFound
		if code := string(c.Payload[:min(len(c.Payload), failure.MaxCode+1)]); code != "" {
			if !failure.IsCode(code) { // no writer stores it, and it would be the text of an error
				return nil, failure.ErrBadCode
			}
			gone = j.t.faults.Remembered(code, nil)
		}
		it.Own().Err = j.stored(gone)
	} else {
		err = wire.Decode(j.t.codecs, c, size, j.v.Value(it), j.p.MaxValueBytes)
		if err != wire.ErrUnknownCodec { //nolint:errorlint // itself
			j.t.seen.ValueSize(j.v.counts, measure.SizeIn, len(c.Payload))
		}
		if err != nil {
			return nil, err
		}
	}
	wall, now := time.Now().Add(time.Millisecond-1).UnixMilli(), j.t.now()
	it.LoadedAt = now - int64(max(wire.Since(wall, c.LoadedAt), 0))
	it.LoadTime = lifetimes.SpanOf(c.LoadTime)
	if c.SoftAt <= c.LoadedAt && c.Flags&tier.Unfresh == 0 { // stale from its birth
		it.Own().Worn = true
	}
	p := j.p
	l := entry.Lifetime{
		Soft:  wire.Remaining(c.SoftAt, c.LoadedAt, wall),
		Hard:  wire.Remaining(c.HardAt, c.LoadedAt, wall),
		Trust: cmp.Or(p.LocalTTL, policy.Forever),
		Ahead: lifetimes.RefreshWindow(c.LoadTime, p.RefreshAhead),
		Firm:  true, // the reader's own Stale must not exceed what the writer allowed
	}
	if it.Err == nil {
		it.Agree(wire.TermsOf(c))
		l.Stale, _ = it.Said().Grace(p)
	}
	it.Live(now, l, &j.v.inForce().usual)
	return it, nil
}

// freeze returns the cell of an item, and how long the tier should keep it.
func (j *Job) freeze(it *entry.Entry, payload wire.Encoded, nonce tier.Nonce, mark fence.Mark) ([]byte, time.Duration, error) {
	now, wall := j.t.now(), time.Now()
	at := func(t int64) int64 {
		if t == entry.Never {
			return math.MaxInt64
		}
		return wall.Add(time.Duration(t - now)).UnixMilli()
	}
	soft, _, hard := it.Times()
	c := tier.Cell{
		Nonce:    nonce,
		ScopePos: uint64(mark.Scope),
		KeyPos:   uint64(mark.Key),
		Epoch:    mark.Epoch,
		SoftAt:   at(soft),
		HardAt:   at(hard),
		LoadedAt: at(it.LoadedAt),
		LoadTime: it.LoadTime.Duration(),
		Tags:     it.Deps.Tags,
		Schema:   j.v.Schema,
		Echo:     j.hash,
		Codec:    payload.Codec,
		Payload:  payload.Data,

		PartKeys:     it.Keys,
		PartPrefixes: it.Prefixes,
	}
	if it.Err != nil {
		c.Flags |= tier.Negative
	}
	it.Said().Into(&c)
	if it.Terms != nil && !it.Worn && c.SoftAt <= c.LoadedAt {
		c.Flags |= tier.Unfresh
	}
	keep := wire.RemoteForever
	if until := it.KeptUntil(); until != entry.Never {
		keep = min(keep, time.Duration(until-now))
	}
	b, err := c.Encode()
	return b, max(keep, time.Millisecond), err
}
