package tiertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
)

// remoteTest is one subtest: the tier, and what it must hold. The Over methods of package tier state
// the rules of claims and fills. Each call is compared with them, and so is the frame that it leaves.
type remoteTest struct {
	*testing.T
	r      tier.Remote
	run    string // random, so runs on one server use different keys
	nonces map[int]tier.Nonce
	cells  map[string]modelCell

	at    string        // the key of the steps
	life  time.Duration // of leases and values in steps
	step  int           // for the texts of failures
	begun time.Time     // when the last claim or fill began
}

// modelCell is what must be under a key.
type modelCell struct {
	frame   []byte
	ends    time.Time // zero if it outlives the subtest
	patched bool      // with a refresh time of the tier's clock, which may differ from ours by an hour
}

// mayBeGone reports whether the cell may have expired. A machine may stop for longer than a short
// lifetime between any two calls.
func (c modelCell) mayBeGone() bool { return !c.ends.IsZero() && time.Until(c.ends) < tick }

func newRemoteTest(t *testing.T, r tier.Remote) *remoteTest {
	return &remoteTest{
		T: t, r: r, run: fmt.Sprintf("%x", tier.NewNonce()),
		nonces: map[int]tier.Nonce{0: {}}, cells: map[string]modelCell{}, life: long,
	}
}

func (t *remoteTest) key(name string) string { return t.run + ":" + name }

func (t *remoteTest) nonce(i int) tier.Nonce {
	if _, ok := t.nonces[i]; !ok {
		t.nonces[i] = tier.NewNonce()
	}
	return t.nonces[i]
}

func (t *remoteTest) failf(format string, args ...any) {
	t.Helper()
	t.Fatalf("step %d: %s", t.step, fmt.Sprintf(format, args...))
}

func (t *remoteTest) get(key string) []byte {
	t.Helper()
	b, err := tiercall.Get(t.Context(), t.r, key)
	if err != nil {
		t.failf("Get = %v", err)
	}
	return b
}

// check fails unless the tier holds what it must under a key.
func (t *remoteTest) check(key string) {
	t.Helper()
	got, want := t.get(key), t.cells[key]
	switch {
	case want.mayBeGone() && got == nil:
		delete(t.cells, key)
	case want.patched && agrees(got, want.frame):
		t.cells[key] = modelCell{frame: bytes.Clone(got), ends: want.ends}
	case !same(got, want.frame):
		t.failf("frame is %s, want %s", describe(got), describe(want.frame))
	}
}

func (t *remoteTest) claim(key string, c tier.Claim) tier.Claimed {
	t.Helper()
	t.begun = time.Now()
	got, err := tiercall.Claim(t.Context(), t.r, key, c)
	t.claimed(key, c, got, err)
	t.check(key)
	return got
}

// claimed compares the answer to a claim with the rules.
func (t *remoteTest) claimed(key string, c tier.Claim, got tier.Claimed, err error) {
	t.Helper()
	before := t.cells[key].frame
	ch, want, refused := c.Over(before, time.Now())
	if refused == nil && (err != nil || !same(got.Cell, want.Cell)) || got.Granted != want.Granted {
		if t.cells[key].mayBeGone() {
			delete(t.cells, key)
			t.claimed(key, c, got, err)
			return
		}
		t.failf("Claim(%+v) over %s = %v, %s, %v; want %v, %s", c, describe(before), got.Granted, describe(got.Cell), err,
			want.Granted, describe(want.Cell))
	}
	t.changed(key, ch, c.Refresh)
}

func (t *remoteTest) fill(key string, f tier.Fill) {
	t.Helper()
	t.begun = time.Now()
	got, err := tiercall.Fill(t.Context(), t.r, key, f)
	t.filled(key, f, got, err)
	t.check(key)
}

// filled compares the answer to a fill with the rules.
func (t *remoteTest) filled(key string, f tier.Fill, got bool, err error) {
	t.Helper()
	before := t.cells[key].frame
	ch, want, refused := f.Over(before)
	if refused == nil && err != nil || got != want {
		if t.cells[key].mayBeGone() {
			delete(t.cells, key)
			t.filled(key, f, got, err)
			return
		}
		t.failf("Fill of nonce %x with %s over %s = %v, %v; want %v", f.Nonce, describe(f.Cell), describe(before), got, err, want)
	}
	t.changed(key, ch, false)
}

func (t *remoteTest) changed(key string, ch tier.Change, byClock bool) {
	switch ch.Act {
	case tier.ActPut:
		c := modelCell{frame: ch.Frame}
		if ch.TTL < long {
			c.ends = t.begun.Add(ch.TTL)
		}
		t.cells[key] = c
	case tier.ActPatch:
		t.cells[key] = modelCell{frame: ch.Frame, ends: t.cells[key].ends, patched: byClock}
	case tier.ActDrop:
		delete(t.cells, key)
	case tier.ActKeep:
	}
}

func (t *remoteTest) remove(keys ...string) {
	t.Helper()
	if err := t.r.Remove(t.Context(), keys); err != nil {
		t.failf("Remove = %v", err)
	}
	for _, k := range keys {
		delete(t.cells, k)
		t.check(k)
	}
}

// store puts frame under key with a claim and a fill.
func (t *remoteTest) store(key string, frame []byte, ttl time.Duration) {
	t.Helper()
	n := tier.NewNonce()
	t.claim(key, tier.Claim{Nonce: n, Lease: long})
	t.fill(key, tier.Fill{Nonce: n, Cell: frame, TTL: ttl})
}

// waitGone polls until key is empty. A frame that outlives the deadline never expires.
func (t *remoteTest) waitGone(key string) {
	t.Helper()
	t.eventually("the frame is still there", func() bool { return t.get(key) == nil })
	delete(t.cells, key)
}

func (t *remoteTest) eventually(what string, check func() bool) {
	t.Helper()
	localtest.Eventually(t.T, late, func() (string, bool) { return what, check() })
}

// value returns an encoded value cell that carries nonce and payload.
func (t *remoteTest) value(nonce tier.Nonce, refreshUntil time.Time, payload []byte) []byte {
	t.Helper()
	c := tier.Cell{
		Nonce: nonce, ScopePos: 1 << 40, KeyPos: 7, SoftAt: 1, HardAt: 2, LoadedAt: 3,
		Tags: []uint64{1, 1<<64 - 1}, Schema: 5, Echo: 6, Codec: "raw", Payload: payload,
	}
	if !refreshUntil.IsZero() {
		c.RefreshUntil = refreshUntil.UnixMilli()
	}
	b, err := c.Encode()
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	return b
}

// same compares two frames. It tells nil from an empty frame.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// agrees compares two values. The ends of their refresh claims may differ by an hour.
func agrees(got, want []byte) bool {
	if len(got) != len(want) {
		return false
	}
	until := func(value []byte) time.Time {
		return time.UnixMilli(int64(binary.BigEndian.Uint64(value[tier.RefreshAt:])))
	}
	return until(got).Sub(until(want)).Abs() <= time.Hour &&
		bytes.Equal(got[:tier.RefreshAt], want[:tier.RefreshAt]) && bytes.Equal(got[tier.HeaderSize:], want[tier.HeaderSize:])
}

// describe describes a frame in one line.
func describe(frame []byte) string {
	if frame == nil {
		return "none"
	}
	return fmt.Sprintf("%.48q (%d bytes)", frame, len(frame))
}
