package sqltiertest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// SQL statements decide about fills and about claims of nothing. The Over methods of package tier
// state the same rules. This test lets both decide about the same frames, valid and invalid.
func TestStatementsAgreeWithOver(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("TWOFOLD_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("repeat with TWOFOLD_SEED=%d", seed)
	everywhere(t, func(t *testing.T, p place) {
		d := draw{rand.New(rand.NewPCG(seed, 1))}
		r := p.tier(t, sqltier.Config{})
		put := `INSERT INTO twofold_cells VALUES ($1, $2, $3)`
		acts := map[tier.Act]int{}
		for i := 0; i < 400 || len(acts) < 4 && i < 4000; i++ { // the rarest act is one in 52: 4,000 lack it once in 10^33 runs
			key, frame := fmt.Sprint("k", i), d.frame()
			if frame != nil {
				if _, err := p.db.ExecContext(t.Context(), put, []byte(key), frame, time.Now().Add(time.Hour).UnixMilli()); err != nil {
					t.Fatal(err)
				}
			}
			var ch tier.Change
			if d.IntN(2) > 0 {
				c := tier.Claim{Seen: d.nonce(), Nonce: d.nonce(), Lease: time.Hour, Refresh: d.IntN(2) > 0}
				var want tier.Claimed
				var wantErr error
				ch, want, wantErr = c.Over(frame, time.Now())
				got, err := tiercall.Claim(t.Context(), r, key, c)
				if got.Granted != want.Granted || !bytes.Equal(got.Cell, want.Cell) || (err == nil) != (wantErr == nil) {
					t.Fatalf("frame %q, %+v: Claim = %v, %v; Over says %v, %v", frame, c, got, err, want, wantErr)
				}
			} else {
				f := tier.Fill{Nonce: d.nonce(), TTL: time.Hour}
				if d.IntN(2) > 0 {
					f.Cell = d.frame()
				}
				var want bool
				var wantErr error
				ch, want, wantErr = f.Over(frame)
				got, err := tiercall.Fill(t.Context(), r, key, f)
				if got != want || (err == nil) != (wantErr == nil) {
					t.Fatalf("frame %q, %+v: Fill = %v, %v; Over says %v, %v", frame, f, got, err, want, wantErr)
				}
			}
			acts[ch.Act]++
			got, err := tiercall.Get(t.Context(), r, key)
			if err != nil {
				t.Fatal(err)
			}
			if want := left(frame, ch); !bytes.Equal(blurred(got), blurred(want)) {
				t.Fatalf("frame %q became %q, want %q", frame, got, want)
			}
		}
		for _, act := range []tier.Act{tier.ActKeep, tier.ActPut, tier.ActPatch, tier.ActDrop} {
			if acts[act] == 0 {
				t.Errorf("no change was of kind %d", act)
			}
		}
	})
}

// left returns the frame after a change.
func left(frame []byte, ch tier.Change) []byte {
	if ch.Act == tier.ActKeep {
		return frame
	}
	return ch.Frame
}

// blurred clears the lower bytes of the refresh time, because it comes from two clocks.
func blurred(frame []byte) []byte {
	if len(frame) < tier.HeaderSize {
		return frame
	}
	frame = bytes.Clone(frame)
	clear(frame[tier.RefreshAt+4 : tier.HeaderSize])
	return frame
}

// draw makes frames and nonces that often match.
type draw struct{ *rand.Rand }

func (d draw) nonce() tier.Nonce {
	all := []tier.Nonce{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 1}, {}}
	return all[d.IntN(len(all))]
}

func (d draw) frame() []byte {
	n := d.nonce()
	frame := make([]byte, 80)
	frame[0] = []byte{byte(tier.KindValue), byte(tier.KindValue), byte(tier.KindLease), '?'}[d.IntN(4)]
	copy(frame[1:], n[:])
	binary.BigEndian.PutUint64(frame[tier.RefreshAt:], []uint64{0, 1 << 62}[d.IntN(2)])
	switch d.IntN(8) {
	case 0:
		return nil
	case 1:
		return frame[:1+d.IntN(40)] // an empty frame counts as none
	case 2, 3:
		return frame[:9]
	}
	return frame
}
