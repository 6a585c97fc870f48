package digest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// fails makes the scribe return text and an error.
func (s *scribe) fails(text string, err error) {
	s.says(func(context.Context, summary.Request) (summary.Summary, error) {
		return summary.Summary{Markdown: text, Tokens: 7}, err
	})
}

// What could not be made is not remembered: who asks next has it tried again.
func TestFailuresAreNotCached(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		err  error
		want error
	}{
		"an error":             {"", summary.ErrUnavailable, summary.ErrUnavailable},
		"text that is cut off": {"half a te", summary.ErrTruncated, summary.ErrTruncated},
		"text beside an error": {"# Not to be trusted", summary.ErrRefused, summary.ErrRefused},
		"no text":              {" \n", nil, summary.ErrEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			ann, bob := w.user("ann", 1), w.user("bob", 1)
			w.scribe.fails(tt.text, tt.err)
			for range 2 {
				if _, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily}); !errors.Is(err, tt.want) {
					t.Errorf("Generate = %v, want %v", err, tt.want)
				}
			}
			w.wantCalls(2)
			if a, b := w.rows("digest_cache"), w.rows("digests"); a+b > 0 {
				t.Errorf("there are %d rows in the cache and %d digests, want none", a, b)
			}
			w.scribe.says(nil)
			w.wantSame(bob, w.daily(bob))
			w.wantSame(ann, w.daily(ann))
			w.wantCalls(3)
			stats, err := w.Stats(t.Context(), time.Time{})
			if c := stats.Counts; err != nil || c["llm_calls"] != 3 || c["llm_errors"] != 2 || c["tokens"] != 2*7+100 || c["failures"] != 2 {
				t.Errorf("the books say %v, %v", c, err)
			}
		})
	}
}

// A summariser that panics fails, and takes nobody along.
func TestSummariserPanics(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	w.scribe.says(func(context.Context, summary.Request) (summary.Summary, error) { panic("an item's words") })
	_, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily})
	if !errors.Is(err, digest.ErrPanic) || strings.Contains(err.Error(), "words") {
		t.Errorf("Generate = %v, want %v without its words", err, digest.ErrPanic)
	}
	w.scribe.says(nil)
	w.wantSame(ann, w.daily(ann))
	if stats, err := w.Stats(t.Context(), time.Time{}); err != nil || stats.Counts["llm_errors"] != 1 || stats.Counts["llm_calls"] != 2 {
		t.Errorf("the books say %v, %v", stats.Counts, err)
	}
}

// A model that wants to be left alone is: for a moment nobody asks, in no process, and
// not for this digest.
func TestRateLimitIsRememberedForAMoment(t *testing.T) {
	w := newWorld(t, 2)
	ann, bob := w.user("ann", 1), w.user("bob", 1)
	w.scribe.fails("", &summary.RateLimitError{Until: time.Now().Add(time.Hour)})
	for range 3 {
		if _, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily}); !errors.Is(err, summary.ErrRateLimited) {
			t.Errorf("Generate = %v, want %v", err, summary.ErrRateLimited)
		}
	}
	other, _ := w.process()
	if _, err := other.Generate(t.Context(), digest.Request{UserID: bob, Kind: digest.Daily}); err == nil || !strings.Contains(err.Error(), "rate-limited") {
		t.Errorf("another process: %v, want to be told of the limit", err)
	}
	w.wantCalls(1)
	if n := w.rows("digest_cache"); n != 0 {
		t.Errorf("there are %d rows in the cache, want none of a failure", n)
	}
}

// In place of a digest that cannot be made the last one of the same combination is
// served; it says so, and does not become this period's.
func TestLastGoodDigestStandsIn(t *testing.T) {
	w := newWorld(t, 2)
	ann, other := w.user("ann", 1), w.user("other", 2)
	good := w.daily(ann)
	w.bring(noon.AddDate(0, 0, 1).Add(-15*time.Hour), 2)
	w.clock.Set(noon.AddDate(0, 0, 1))
	w.scribe.fails("", summary.ErrUnavailable)
	for range 2 {
		r, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily})
		if err != nil || r.State != digest.Stale || !errors.Is(r.Err, summary.ErrUnavailable) || r.Row.ID != 0 {
			t.Errorf("Generate = %s in row %d because of %v, %v; want %s", r.State, r.Row.ID, r.Err, err, digest.Stale)
		}
		if r.Row.Content != good.Row.Content || !r.Window.End.Equal(good.Window.End) {
			t.Errorf("what stands in is %q of [%v, %v)", r.Row.Content, r.Window.Start, r.Window.End)
		}
	}
	if _, err := w.Generate(t.Context(), digest.Request{UserID: other, Kind: digest.Daily}); !errors.Is(err, summary.ErrUnavailable) {
		t.Errorf("a combination that never had one: %v, want %v", err, summary.ErrUnavailable)
	}
	if n := w.rows("digests"); n != 1 {
		t.Errorf("there are %d digests, want the good one", n)
	}
	w.scribe.says(nil)
	if r := w.daily(ann); r.State != digest.Ready || r.Row.Content == good.Row.Content {
		t.Errorf("when it can be made again: %s, %q", r.State, r.Row.Content)
	}
}

// Whoever wrote the text: its links are the items'.
func TestLinksAreTheItems(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	w.scribe.says(func(_ context.Context, r summary.Request) (summary.Summary, error) {
		return summary.Summary{Markdown: "# Today\n\n[mine](" + r.Items[0].URL + "?utm_source=x) and [theirs](https://evil.example)"}, nil
	})
	r := w.daily(ann)
	if want := "# Today\n\n[mine](" + w.scribe.seen[0].Items[0].URL + ") and theirs\n"; r.Row.Content != want {
		t.Errorf("the text is %q, want %q", r.Row.Content, want)
	}
	stats, err := w.Stats(t.Context(), time.Time{})
	if c := stats.Counts; err != nil || c["links_dropped"] != 1 || c["links_repaired"] != 1 {
		t.Errorf("the books say %v, %v", c, err)
	}
}

// A caller that leaves takes nobody along, and spends nothing twice.
func TestCallerLeaves(t *testing.T) {
	w := newWorld(t, 1)
	ann, bob := w.user("ann", 1), w.user("bob", 1)
	asked, release := make(chan struct{}), make(chan struct{})
	w.scribe.says(func(_ context.Context, r summary.Request) (summary.Summary, error) {
		close(asked)
		<-release
		return text(r, 1), nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := w.Generate(ctx, digest.Request{UserID: ann, Kind: digest.Daily})
		left <- err
	}()
	<-asked
	stays := make(chan digest.Result, 1)
	go func() {
		r, err := w.Generate(t.Context(), digest.Request{UserID: bob, Kind: digest.Daily})
		if err != nil {
			t.Error(err)
		}
		stays <- r
	}()
	until(t, "second who waits", func() bool { return w.Tiers().Stats().Total.Merged > 0 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	close(release)
	w.wantSame(bob, <-stays)
	w.wantCalls(1)
	stats, err := w.Stats(t.Context(), time.Time{})
	if c := stats.Counts; err != nil || c["requests"] != 2 || c["hits"]+c["merged"] != 1 || c["failures"] != 0 {
		t.Errorf("the books say %v, %v; want one request served, and one given up", c, err)
	}
}
