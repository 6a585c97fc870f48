package main

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// The program starts itself for the members. Its test does the same.
func TestMain(m *testing.M) {
	setup.Child("fleet", childEnv, child)
	os.Exit(m.Run())
}

// TestShortRun measures two members for a second each time, twice as
// long as an idle follower may wait between two reads. It does not judge speed.
func TestShortRun(t *testing.T) {
	o := &plan{members: []int{2}, rates: []int{0, 200}, bounds: []time.Duration{2 * time.Second}, real: 2, each: time.Second}
	cells, err := measureAll(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if c.Reads == 0 || c.Scripts == 0 || c.Redis == 0 || c.Member == 0 || (c.Rate > 0) != (c.Sent > 0 && c.Records > 0 && c.Lag50 > 0) {
			t.Errorf("a cell has a hole: %+v", c)
		}
	}
	text := write(t.Context(), o, cells)
	for _, want := range []string{"| key | 2 + 2 | 2s | 0 |", "| tag | 2 + 2 | 2s | 200 |", "| key | 2 real + 2 | 2s | 200 |", "## Capacity"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// made returns cells with known costs.
func made(sizes, rates []int) (cells []cell) {
	for _, n := range sizes {
		for _, rate := range rates {
			c := cell{Kind: byKey, Members: n, Writers: 8, Bound: 2 * time.Second, Rate: rate, Sent: float64(rate), Records: float64(rate), Lag99: time.Millisecond}
			c.Reads, c.Scripts = (2+20*math.Log1p(float64(rate)))*c.followers(), float64(rate)+2*c.followers()
			c.Redis = costs{100e-6, 20e-6, 1e-6}.of([3]float64{c.Scripts, c.Reads, c.Records * c.followers()})
			c.Real, c.Member = n == 20, costs{1e-3, 100e-6, 3e-6}.of([3]float64{1, c.Reads / c.followers(), c.Records})
			cells = append(cells, c)
		}
	}
	return cells
}

func TestCosts(t *testing.T) {
	cells := made([]int{10, 20, 50, 100}, []int{0, 200, 2000})
	redis, member := costsOf(cells)
	for _, c := range []struct {
		got  costs
		want costs
	}{{redis, costs{100e-6, 20e-6, 1e-6}}, {member, costs{1e-3, 100e-6, 3e-6}}} {
		for i := range c.want {
			if math.Abs(c.got[i]-c.want[i]) > c.want[i]/100 {
				t.Errorf("costs are %v, want %v", c.got, c.want)
			}
		}
	}
	l := loadOf(cells, 2000, 2*time.Second)
	if want := (load{renewals: 2, reads: 2 + 20*math.Log1p(2000), records: 2000}); math.Abs(l.reads-want.reads) > 0.01 || l.renewals != 2 || l.records != 2000 {
		t.Errorf("the load of a process is %+v, want %+v", l, want)
	}
	// 0.8 of a core, less 0.2 for the scripts that append, divided by the cost of one process.
	if got, want := redis.most(l), 0.6/(2*100e-6+154*20e-6+2000*1e-6); math.Abs(got-want) > 2 {
		t.Errorf("Redis serves %v processes, want %v", got, want)
	}
	if got := redis.logs(l, 1000); got != "5" { // of 0.2 + 3.28 + 2/k cores, divided by k
		t.Errorf("1,000 processes need %s logs, want 5", got)
	}
	if got := redis.logs(load{reads: 1e9}, 1); got != "–" {
		t.Errorf("a load that no number of logs serves needs %s logs, want none", got)
	}
}

func TestKnee(t *testing.T) {
	cells := made([]int{10, 50, 100, 200}, []int{2000})
	if n := knee(cells, byKey, 2000, 2*time.Second); n != 100 {
		t.Errorf("the knee is at %d members, want 100: the next take %.2f of Redis", n, cells[3].Redis)
	}
	for _, spoil := range []func(c *cell){
		func(c *cell) { c.Lag99 = 200 * time.Millisecond },
		func(c *cell) { c.Sent = 1000 },
		func(c *cell) { c.Redis = 0.8 },
	} {
		cells := made([]int{10, 50, 100}, []int{2000})
		spoil(&cells[1])
		if n := knee(cells, byKey, 2000, 2*time.Second); n != 10 {
			t.Errorf("the knee is at %d members, want 10, behind which is %+v", n, cells[1])
		}
	}
}

func TestLags(t *testing.T) {
	o := order{Start: 100, End: 200}
	called := map[uint64]int64{1: 99, 2: 100, 3: 199, 4: 200, 5: 150}
	heard := map[uint64]int64{1: 101, 2: 110, 3: 219, 4: 210}
	var sum time.Duration
	lags := lagsOf(called, heard, o)
	for _, lag := range lags {
		sum += lag
	}
	if len(lags) != 3 || sum != 10+20+time.Hour {
		t.Errorf("lags are %v, want 10ns, 20ns, and an hour for the one not heard of", lags)
	}
}
