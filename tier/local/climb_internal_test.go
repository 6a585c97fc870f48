package local

import (
	"math"
	"testing"
)

// TestClimb simulates a hit ratio that is best at some share, and checks that the climb reaches it.
func TestClimb(t *testing.T) {
	for _, best := range []float64{0, 0.05, 0.3, 0.6, 1} {
		var c climb
		c.start()
		low, high := 1.0, 0.0
		for period := range 400 {
			c.adjust(0.8-0.3*math.Abs(c.share-best), c.share, true)
			if period >= 350 {
				low, high = min(low, c.share), max(high, c.share)
			}
		}
		want := min(max(best, leastShare), greatest)
		if want < low-0.05 || want > high+0.05 || high-low > 0.2 {
			t.Errorf("best at %.2f: ended between %.2f and %.2f", best, low, high)
		}
	}
}

// TestClimbAgain moves the best share after the steps have become small. A leap of the hit ratio
// makes the steps long again.
func TestClimbAgain(t *testing.T) {
	var c climb
	c.start()
	best := 0.05
	for range 300 {
		c.adjust(0.8-0.3*math.Abs(c.share-best), c.share, true)
	}
	if c.size > firstStep/10 {
		t.Fatalf("steps of %.4f after 300 periods, want small ones", c.size)
	}
	best = 0.7
	for range 100 {
		c.adjust(0.6-0.3*math.Abs(c.share-best), c.share, true)
	}
	if math.Abs(c.share-best) > 0.1 {
		t.Errorf("share %.2f, want about %.2f", c.share, best)
	}
}

// TestClimbOfNothing: a tier that is not full learns nothing about its share.
func TestClimbOfNothing(t *testing.T) {
	var c climb
	c.start()
	for i := range 100 {
		if c.adjust(float64(i)/100, c.share, false) {
			t.Fatal("the share changed")
		}
	}
	if c.share != firstShare {
		t.Errorf("share %.2f, want %.2f", c.share, firstShare)
	}
}

// TestSamplesAreBounded: one entry counts at most 63 hits in a period, however many callers hit it.
func TestSamplesAreBounded(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20}) // with one shard, all hashes are samples
	defer l.Close()
	l.Set(1, "v", 100)
	for range 1000 {
		l.Get(1)
	}
	if got := l.shards[0].hits.Load(); got != countMask {
		t.Errorf("%d hits counted, want %d", got, countMask)
	}
	l.period.Add(1)
	l.Get(1)
	if got := l.shards[0].hits.Load(); got != countMask+1 {
		t.Errorf("%d hits counted in the next period, want one more than %d", got, countMask)
	}
}

// TestClimbByTheWindowsPart: the windows' part of the hits decides before the change of the ratio.
func TestClimbByTheWindowsPart(t *testing.T) {
	for _, tc := range []struct {
		name        string
		ratio, part float64 // the part in multiples of the share
		down        bool
	}{
		{"hardly any hits", 0.04, 0, false},
		{"many of the hits", 0.5, 3, false},
		{"few of the hits", 0.5, 0.1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, down := range []bool{false, true} {
				var c climb
				c.start()
				c.share, c.down = 0.4, down
				c.adjust(tc.ratio, 0.4, true)
				before := c.share
				if c.adjust(tc.ratio, tc.part*before, true); c.share < before != tc.down || c.share == before {
					t.Errorf("the share went from %.2f to %.2f, want down %v", before, c.share, tc.down)
				}
			}
		})
	}
}

// TestSamplesKnowTheWindow: hits of an entry in main are not counted as the windows' part.
func TestSamplesKnowTheWindow(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20})
	defer l.Close()
	l.Set(1, "v", 100)
	s := &l.shards[0]
	for range 10 {
		l.Get(1)
	}
	s.mu.Lock()
	s.promote(s.table.Load(1))
	s.mu.Unlock()
	l.period.Add(1)
	for range 10 {
		l.Get(1)
	}
	if hits, early := s.hits.Load(), s.early.Load(); hits != 20 || early != 10 {
		t.Errorf("%d hits, %d of them in the window; want 20 and 10", hits, early)
	}
}
