package ops_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/examples/site/ops"
)

// points returns the points of all lines of a chart, and how many lines there are.
func (s svg) points(t *testing.T) (points [][2]float64, lines int) {
	t.Helper()
	for _, l := range s.Polylines {
		for p := range strings.FieldsSeq(l.Points) {
			x, y, _ := strings.Cut(p, ",")
			points = append(points, [2]float64{number(t, x), number(t, y)})
		}
	}
	return points, len(s.Polylines)
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Errorf("%q is no number", s)
	}
	return v
}

// inside checks that everything is drawn within the chart, and that time goes on.
func (s svg) inside(t *testing.T) {
	t.Helper()
	var x0, y0, width, height float64
	if _, err := fmt.Sscan(s.ViewBox, &x0, &y0, &width, &height); err != nil {
		t.Error(err)
	}
	for _, line := range s.Polylines {
		last := -1.0
		for p := range strings.FieldsSeq(line.Points) {
			x, y, _ := strings.Cut(p, ",")
			at, v := number(t, x), number(t, y)
			if at < 0 || at > width || v < 0 || v > height {
				t.Errorf("%s: %s is outside of %s", s.Label, p, s.ViewBox)
			}
			if at <= last {
				t.Errorf("%s: time goes back at %s", s.Label, p)
			}
			last = at
		}
	}
	for _, c := range s.Circles {
		if x, y := number(t, c.X), number(t, c.Y); x < 0 || x > width || y < 0 || y > height {
			t.Errorf("%s: %v, %v is outside of %s", s.Label, x, y, s.ViewBox)
		}
	}
}

// watched is a handler that takes samples, in a bubble.
type watched struct {
	*fake
	t    *testing.T
	ops  *ops.Handler
	stop context.CancelFunc
}

func watch(t *testing.T, change func(cfg *ops.Config)) *watched {
	t.Helper()
	f := newFake()
	cfg := f.config()
	if change != nil {
		change(&cfg)
	}
	return &watched{fake: f, t: t, ops: handler(t, cfg)}
}

// run begins to take samples, for as long as the bubble lasts or until stop.
func (w *watched) run() {
	var ctx context.Context
	ctx, w.stop = context.WithCancel(w.t.Context())
	go w.ops.Run(ctx)
	synctest.Wait()
}

func (w *watched) wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

const (
	ofResponses = "Hit ratio of responses"
	ofQueries   = "Database queries per second"
	ofHTML      = "Hit ratio of responses/html"
)

// A chart of any number of samples is a chart.
func TestChartsOfFewAndManySamples(t *testing.T) {
	for _, tt := range []struct {
		after       time.Duration // since the first sample
		points      int           // of the big charts, which have one for two samples
		lines, dots int
	}{
		{-1, 0, 0, 0}, // Run does not run
		{0, 0, 0, 0},
		{10 * time.Second, 1, 0, 1},
		{20 * time.Second, 1, 0, 1},
		{30 * time.Second, 2, 1, 0},
		{5 * time.Minute, 15, 1, 0},
		{time.Hour, 180, 1, 0},
		{3 * time.Hour, 180, 1, 0},
	} {
		t.Run(tt.after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, nil)
				if tt.after >= 0 {
					w.run()
				}
				for i := int64(1); i <= int64(tt.after/(10*time.Second)); i++ {
					w.asked(i * 10)
					w.format("html", counts(3*i, i))
					w.wait(10 * time.Second)
				}
				d := look(t, w.ops, "/_cache")
				for _, name := range []string{ofResponses, ofQueries} {
					s := d.chart(name)
					s.inside(t)
					points, lines := s.points(t)
					if lines != tt.lines || len(s.Circles) != tt.dots || len(points)+len(s.Circles) != tt.points {
						t.Errorf("%s has %d points in %d lines and %d dots, want %d, %d and %d",
							name, len(points), lines, len(s.Circles), tt.points, tt.lines, tt.dots)
					}
					if empty := strings.Contains(s.Label, "nothing to show yet"); empty != (tt.points == 0) {
						t.Errorf("the chart is called %q", s.Label)
					}
				}
				if tt.points > 0 && !strings.Contains(d.chart(ofResponses).Label, "75% at last") {
					t.Errorf("three of four is %q", d.chart(ofResponses).Label)
				}
				if tt.points > 0 && !strings.Contains(textOf(d.root), "lately 1.0 a second") {
					t.Error("a query a second is not told")
				}
				if w.stop != nil {
					w.stop()
				}
			})
		})
	}
}

// Where there was no look-up there is no ratio, rather than a good or a bad one.
func TestGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, nil)
		w.run()
		defer w.stop()
		hits := int64(0)
		for minute := range 10 {
			if minute < 3 || minute == 5 || minute > 7 { // a line, a dot and a line
				hits += 6
			}
			w.format("html", counts(hits, 0))
			w.wait(time.Minute)
		}
		s := look(t, w.ops, "/_cache").chart(ofHTML)
		s.inside(t)
		points, lines := s.points(t)
		if lines != 2 || len(points) != 3+2 || len(s.Circles) != 1 {
			t.Errorf("%d points in %d lines, and %d dots", len(points), lines, len(s.Circles))
		}
		for _, p := range points {
			if p[1] != points[0][1] {
				t.Errorf("all hits are at %v and at %v", p[1], points[0][1])
			}
		}
	})
}

// When the machine slept, or its clock was set, nobody knows what happened when.
func TestClockJumps(t *testing.T) {
	for jump, want := range map[time.Duration]int{0: 1, 20 * time.Minute: 2, -30 * time.Second: 2, 3 * time.Hour: 1, -3 * time.Hour: 1} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var jumped atomic.Int64
				w := watch(t, func(cfg *ops.Config) {
					cfg.Now = func() time.Time { return time.Now().Add(time.Duration(jumped.Load())) }
				})
				w.run()
				defer w.stop()
				for i := range int64(60) {
					if i == 20 {
						jumped.Store(int64(jump))
					}
					w.asked(i)
					w.wait(10 * time.Second)
				}
				s := look(t, w.ops, "/_cache").chart(ofQueries)
				s.inside(t)
				if _, lines := s.points(t); lines != want {
					t.Errorf("there are %d lines, want %d", lines, want)
				}
			})
		})
	}
}

// A point that was drawn stays where it is: what is put together does not depend on
// which samples were forgotten.
func TestChartsDoNotWobble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, nil)
		w.run()
		defer w.stop()
		var hits, misses int64
		for i := range 361 + 8 { // so that the oldest sample is an odd one
			if i/2%2 == 0 {
				hits++
			} else {
				misses++
			}
			w.format("html", counts(hits, misses))
			w.wait(10 * time.Second)
		}
		s := look(t, w.ops, "/_cache").chart(ofResponses)
		heights := map[float64]int{}
		points, _ := s.points(t)
		for _, p := range points[1 : len(points)-1] { // the first and the last are of half an interval
			heights[p[1]]++
		}
		if len(heights) != 2 {
			t.Errorf("all hits and all misses, in turn, are drawn at %v", heights)
		}
	})
}

// The charts are of the last hour, and what was before is forgotten.
func TestOnlyAnHourIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, nil)
		w.run()
		defer w.stop()
		w.format("html", counts(0, 1000)) // all misses, in the first interval
		w.wait(10 * time.Second)
		lately := func() string { return look(t, w.ops, "/_cache").row("responses", "html")[2] }
		if got := lately(); got != "0%" {
			t.Errorf("at first it is %q", got)
		}
		w.format("html", counts(1000, 1000))
		w.wait(time.Hour - 10*time.Second)
		if got := lately(); got != "50%" {
			t.Errorf("within the hour it is %q", got)
		}
		w.wait(10 * time.Second)
		if got := lately(); got != "100%" {
			t.Errorf("after the hour it is %q", got)
		}
		w.wait(time.Hour)
		if got := lately(); got != "–" {
			t.Errorf("an hour without requests is %q", got)
		}
	})
}

// Caches that make up names without end do not fill the memory with samples.
func TestSeriesAreBounded(t *testing.T) {
	f := newFake()
	for i := range 500 {
		f.format("f"+strconv.Itoa(i), counts(1, 1))
	}
	h := handler(t, f.config())
	h.Run(cancelled(t))
	for i := range 500 {
		f.format("f"+strconv.Itoa(i), counts(2, 1))
	}
	lately := 0
	for _, r := range decode[struct {
		Responses []struct {
			Lately *float64 `json:"hit_ratio_last_hour"`
		}
	}](t, get(t, h, "/_cache/stats")).Responses {
		if r.Lately != nil {
			lately++
		}
	}
	if lately == 0 || lately > 64 {
		t.Errorf("%d series are kept, want at most 64 and some", lately)
	}
}

// The scale fits what is shown.
func TestScale(t *testing.T) {
	for rate, want := range map[int64][]string{
		0: {"0", "0.5", "1"}, 1: {"0", "0.5", "1"}, 2: {"0", "1", "2"}, 3: {"0", "2.5", "5"}, 7: {"0", "5", "10"}, 40: {"0", "25", "50"}, 999: {"0", "500", "1000"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := watch(t, nil)
			w.run()
			defer w.stop()
			w.asked(rate * 10)
			w.wait(10 * time.Second)
			s := look(t, w.ops, "/_cache").chart(ofQueries)
			if len(s.Texts) < 3 || strings.Join(s.Texts[:3], " ") != strings.Join(want, " ") {
				t.Errorf("of %d a second, the scale is %v, want %v", rate, s.Texts, want)
			}
			s.inside(t)
		})
	}
}

// Rates that are no whole numbers are rounded to tenths.
func TestRatesAreRounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, nil)
		w.run()
		defer w.stop()
		w.asked(3)
		w.wait(10 * time.Second)
		w.asked(4)
		w.wait(10 * time.Second)
		s := look(t, w.ops, "/_cache").chart(ofQueries)
		if !strings.HasSuffix(s.Label, ": 0.2 at last") || s.Texts[1] != "0.5" {
			t.Errorf("4 in 20 seconds are %q on a scale of %v", s.Label, s.Texts)
		}
	})
}

// What is not all is not shown as all.
func TestPercentIsRoundedDown(t *testing.T) {
	for _, tt := range []struct {
		hits, misses int64
		want         string
	}{
		{1, 0, "100%"}, {0, 1, "0%"}, {99999, 1, "99.9%"}, {509, 491, "50.9%"}, {57, 43, "57%"}, {1, 2, "33.3%"}, {1, 99999, "0%"},
	} {
		f := newFake()
		f.format("html", httpcache.Counts{Hits: tt.hits, Misses: tt.misses})
		if got := look(t, handler(t, f.config()), "/_cache").row("responses", "html")[3]; got != tt.want {
			t.Errorf("%d of %d = %q, want %q", tt.hits, tt.hits+tt.misses, got, tt.want)
		}
	}
}
