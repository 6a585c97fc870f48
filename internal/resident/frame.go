package resident

import (
	"cmp"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// A frame carries wall-clock times, in whole milliseconds. An entry carries the monotonic time of
// its Tiers. If the writer's clock is ahead, the value's age may seem negative; it still gets no
// more life than it was born with. The writer of a frame rounds its times down, the reader
// rounds its own time up. So a value's life may end two milliseconds early, never late.

// verdict says how this process may use a frame.
type verdict uint8

// The verdicts.
const (
	absent  verdict = iota // no cell
	Leased                 // another process is loading
	useless                // must not be served: unreadable, foreign, invalidated or expired
	Usable                 // a value, perhaps kept only for Previous
)

// Frame is a checked cell from the remote tier.
type Frame struct {
	Verdict verdict
	Nonce   tier.Nonce // a claim over this cell must name it
	Claimed bool       // claimed by a process: a lease, or a value that is being refreshed
	Ended   bool       // not claimed: the mark of an ended load, or a value
	It      *Entry
	Size    int64 // of its value
}

// checkFrame returns the verdict on a frame. mark was captured before the fetch.
func (j *Job) checkFrame(raw []byte, mark fence.Mark) (f Frame) {
	if len(raw) == 0 {
		return Frame{Verdict: absent}
	}
	cell, nonce, claimed, err := j.Core.seal.Read(raw, j.FullKey())
	f = Frame{Verdict: useless, Nonce: nonce}
	switch {
	case err == remote.ErrUnauthentic: //nolint:errorlint // itself
		j.View.Counts.Inc(measure.CellUnauthentic)
		return f
	case err != nil:
		j.View.Counts.Inc(measure.CellCorrupt)
		return f
	}
	f.Claimed, f.Ended = claimed, !claimed
	switch cell.Kind {
	case tier.KindLease:
		if f.Claimed {
			f.Verdict = Leased
		}
		return f
	case tier.KindValue:
	}
	if cell.Echo != j.Hash || cell.Schema != j.View.Schema {
		j.View.Counts.Inc(measure.CellForeign)
		return f
	}
	filled := fence.Mark{Key: invalidate.Position(cell.KeyPos), Scope: invalidate.Position(cell.ScopePos), Epoch: cell.Epoch}
	fresh, ok := j.Accepts(filled, &fence.Deps{Tags: cell.Tags, Keys: cell.PartKeys, Prefixes: cell.PartPrefixes})
	if !ok && !safeguard.Off(safeguard.Frames) {
		j.View.Counts.Inc(measure.CellRefused)
		j.otherLog(&cell)
		return f
	}
	it, plain, err := j.thaw(&cell, len(raw), mark)
	if err != nil {
		j.View.Counts.Inc(measure.CellCorrupt)
		return f
	}
	if !j.tagged(it) {
		j.View.Counts.Inc(measure.CellUntagged)
		return f
	}
	if fresh != fence.Forever && !safeguard.Off(safeguard.Soft) {
		it.Expire(fresh)
	}
	if it.KeptUntil() <= j.Core.Now() {
		return f
	}
	f.Verdict, f.It, f.Size = Usable, it, j.SizeOf(it, plain)
	return f
}

// thaw makes an entry of a value cell, whose frame has size bytes. It returns the length of the payload
// before compression.
func (j *Job) thaw(c *tier.Cell, size int, mark fence.Mark) (it *Entry, plain int, err error) {
	it = j.Take(mark)
	if len(c.Tags)+len(c.PartKeys) > 0 {
		it.Writable().Deps = fence.Deps{Tags: c.Tags, Keys: c.PartKeys, Prefixes: c.PartPrefixes}
	}
	if c.Flags&tier.FlagNegative != 0 {
		gone := fault.ErrNotFound
		if code := string(c.Payload[:min(len(c.Payload), fault.MaxCode+1)]); code != "" {
			if !fault.IsCode(code) { // no writer stores it, and it would be the text of an error
				return nil, 0, fault.ErrBadCode
			}
			gone = j.Core.Faults.Remembered(code, nil)
		}
		it.Writable().Err = j.Stored(gone)
	} else {
		plain, err = remote.Decode(j.Core.codecs, c, size, j.View.Value(it), j.Policy.MaxValueBytes)
		if err != remote.ErrUnknownCodec { //nolint:errorlint // itself
			j.Core.Seen.ValueSize(j.View.Counts, measure.SizeIn, len(c.Payload))
		}
		if err != nil {
			return nil, 0, err
		}
	}
	wall, now := time.Now().Add(time.Millisecond-1).UnixMilli(), j.Core.Now()
	it.LoadedAt = now - int64(max(remote.Since(wall, c.LoadedAt), 0))
	it.LoadTime = lifetimes.SpanOf(c.LoadTime)
	p := j.Policy
	l := Lifetime{
		Soft:  remote.Remaining(c.SoftAt, c.LoadedAt, wall),
		Hard:  remote.Remaining(c.HardAt, c.LoadedAt, wall),
		Trust: cmp.Or(p.LocalTTL, policy.Forever),
		Ahead: lifetimes.RefreshWindow(c.LoadTime, p.RefreshAhead),
		Firm:  true, // the reader's own Stale must not exceed what the writer allowed
	}
	if it.Err == nil {
		it.SetTerms(remote.TermsOf(c))
		l.Stale, _ = it.Said().Grace(p)
	}
	it.SetLifetime(now, l, &j.View.InForce().Usual)
	return it, plain, nil
}

// Freeze returns the cell of an entry, and how long the tier should keep it.
func (j *Job) Freeze(it *Entry, payload remote.Encoded, nonce tier.Nonce, mark fence.Mark) ([]byte, time.Duration, error) {
	now, wall := j.Core.Now(), time.Now()
	at := func(t int64) int64 {
		if t == Never {
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
		Schema:   j.View.Schema,
		Echo:     j.Hash,
		Codec:    payload.Codec,
		Payload:  payload.Data,

		PartKeys:     it.Keys,
		PartPrefixes: it.Prefixes,
	}
	if it.Err != nil {
		c.Flags |= tier.FlagNegative
	}
	it.Said().Into(&c)
	keep := remote.RemoteForever
	if until := it.KeptUntil(); until != Never {
		keep = min(keep, time.Duration(until-now))
	}
	b, err := c.Encode()
	if err != nil {
		return nil, 0, err
	}
	return j.Core.seal.Close(b, j.FullKey()), max(keep, time.Millisecond), nil
}
