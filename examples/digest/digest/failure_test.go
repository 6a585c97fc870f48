package digest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// fails makes the scribe return text with an error.
func (s *scribe) fails(text string, err error) {
	s.says(func(context.Context, summary.Request) (summary.Summary, error) {
		return summary.Summary{Markdown: text, Tokens: 7}, err
	})
}

// soon makes a service read the file for each failure, so that the test's clock applies.
func soon(c *digest.Config) { c.ErrorTTL = -1 }

// A refused answer costs money. The model is not called again before the retry time,
// however many users ask, and that time grows.
func TestRefusedAnswersAreRemembered(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		err  error
		want error
	}{
		"a server that fails":  {"", summary.ErrUnavailable, summary.ErrUnavailable},
		"text that is cut off": {"half a te", summary.ErrTruncated, summary.ErrTruncated},
		"text beside an error": {"# Not to be trusted", summary.ErrRefused, summary.ErrRefused},
		"not the right JSON":   {"", summary.ErrResponse, summary.ErrResponse},
		"a refusal":            {"", &summary.ModelError{Status: 400, Code: "model_not_found", Err: summary.ErrRefused}, summary.ErrRefused},
		"no text":              {" \n", nil, summary.ErrEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			ann, bob := w.user("ann", 1), w.user("bob", 1)
			w.scribe.fails(tt.text, tt.err)
			for n := range 101 {
				_, err := w.Generate(t.Context(), digest.Request{UserID: []int64{ann, bob}[n%2], Kind: digest.Daily})
				refused, ok := errors.AsType[*digest.RefusedError](err)
				if !ok || !errors.Is(err, tt.want) || refused.Attempts != 1 || refused.Until.Sub(noon) != time.Minute {
					t.Fatalf("Generate = %v, want %v and the next attempt in a minute", err, tt.want)
				}
			}
			w.wantCalls(1)
			if a, b := w.rows("digest_cache"), w.rows("digests"); a+b > 0 {
				t.Errorf("there are %d rows in the cache and %d digests, want none", a, b)
			}
			stats, err := w.Stats(t.Context())
			if c := stats.Counts; err != nil || c["llm_calls"] != 1 || c["llm_errors"] != 1 || c["tokens"] != 7 && tt.err != nil || c["failures"] != 101 {
				t.Errorf("the books say %v, %v", c, err)
			}
			if g := stats.Generation; g.Status != "refused" || g.Waiting != 1 || !strings.Contains(g.Reason, tt.want.Error()) {
				t.Errorf("the state of generation is %+v", g)
			}
		})
	}
}

// Another process, and a restarted one, wait too. Each failure doubles the wait.
func TestRefusedAnswersBackOff(t *testing.T) {
	w := newWorld(t, 1, soon)
	w.bring(noon.AddDate(0, 0, -5), 1) // in the last closed week
	w.clock.Set(noon)
	ann := w.user("ann", 1)
	w.scribe.fails("", summary.ErrTruncated)
	ask := func(s *digest.Service) (digest.Result, error) {
		return s.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Weekly}) // the clock passes midnight
	}
	for n := range int64(10) {
		_, err := ask(w.Service)
		refused, ok := errors.AsType[*digest.RefusedError](err)
		if want := min(time.Minute<<n, 6*time.Hour); !ok || refused.Until.Sub(w.clock.Now()) != want || int64(refused.Attempts) != n+1 {
			t.Fatalf("attempt %d: %v, want the next in %v", n+1, err, want)
		}
		w.clock.Set(refused.Until.Add(-time.Millisecond))
		other, _ := w.process(soon)
		if _, err := ask(other); err == nil {
			t.Error("another process has a digest")
		}
		w.wantCalls(n + 1)
		w.clock.Set(refused.Until)
	}
	w.scribe.says(nil)
	r, err := ask(w.Service)
	if err != nil {
		t.Fatal(err)
	}
	w.wantSame(ann, r)
	w.wantCalls(11)
	if n := w.rows("digest_failures"); n != 0 {
		t.Errorf("%d failures are left", n)
	}
}

// When an operator deletes a combination, or all, the next request calls the model at once.
func TestForgetFailures(t *testing.T) {
	for name, sel := range map[string]store.CacheSelection{"hash": {Hash: store.Hash([]int64{1})}, "all": {All: true}, "before": {Before: noon}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			ann := w.user("ann", 1)
			w.scribe.fails("", summary.ErrTruncated)
			if _, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily}); !errors.Is(err, summary.ErrTruncated) {
				t.Fatal(err)
			}
			w.scribe.says(nil)
			if n, err := w.Forget(t.Context(), sel, "test"); err != nil || n != 0 {
				t.Errorf("Forget = %d, %v; want none: there is no digest", n, err)
			}
			w.wantSame(ann, w.daily(ann))
		})
	}
}

// When the hour's calls are used up, no process, not even a new one, calls the model in that hour.
func TestBudget(t *testing.T) {
	two := func(c *digest.Config) { c.CallsPerHour = 2; soon(c) }
	w := newWorld(t, 4, two)
	users := []int64{w.user("a", 1), w.user("b", 2), w.user("c", 3), w.user("d", 4)}
	w.daily(users[0])
	if g, err := w.Generation(t.Context()); err != nil || g.Status != "ok" || g.CallsNow != 1 || g.CallsPerHour != 2 {
		t.Errorf("Generation = %+v, %v", g, err)
	}
	w.daily(users[1])
	other, _ := w.process(two)
	until := noon.Truncate(time.Hour).Add(time.Hour)
	for _, s := range []*digest.Service{w.Service, other} {
		_, err := s.Generate(t.Context(), digest.Request{UserID: users[2], Kind: digest.Daily})
		over, ok := errors.AsType[*digest.BudgetError](err)
		if !ok || !errors.Is(err, digest.ErrBudget) || over.Limit != 2 || !over.Until.Equal(until) {
			t.Errorf("Generate = %v, want %v until %v", err, digest.ErrBudget, until)
		}
		if g, err := s.Generation(t.Context()); err != nil || g.Status != "budget used up" || !g.Until.Equal(until) {
			t.Errorf("Generation = %+v, %v", g, err)
		}
	}
	w.wantCalls(2)
	w.daily(users[0]) // a stored digest costs no call
	w.clock.Set(until)
	w.wantSame(users[2], w.daily(users[2]))
	w.wantSame(users[3], w.generate(other, users[3], digest.Daily))
	w.wantCalls(4)
	if _, err := w.Generate(t.Context(), digest.Request{UserID: w.user("e", 1, 2), Kind: digest.Daily}); !errors.Is(err, digest.ErrBudget) {
		t.Errorf("the third of the next hour: %v", err)
	}
	if n := w.rows("digest_failures"); n != 0 {
		t.Errorf("%d failures are remembered, and none was an attempt", n)
	}
}

// A summariser that panics fails only its digest.
func TestSummariserPanics(t *testing.T) {
	w := newWorld(t, 1, soon)
	ann := w.user("ann", 1)
	w.scribe.says(func(context.Context, summary.Request) (summary.Summary, error) { panic("an item's words") })
	_, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily})
	if !errors.Is(err, digest.ErrPanic) || strings.Contains(err.Error(), "words") {
		t.Errorf("Generate = %v, want %v without its words", err, digest.ErrPanic)
	}
	w.clock.Advance(time.Minute)
	w.scribe.says(nil)
	w.wantSame(ann, w.daily(ann))
	if stats, err := w.Stats(t.Context()); err != nil || stats.Counts["llm_errors"] != 1 || stats.Counts["llm_calls"] != 2 {
		t.Errorf("the books say %v, %v", stats.Counts, err)
	}
}

// If the model asks for a pause, no process calls it for this digest for a moment.
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

// If a digest cannot be made, the last one of the same combination is served. It is marked
// stale, and not stored for this period.
func TestLastGoodDigestStandsIn(t *testing.T) {
	w := newWorld(t, 2, soon)
	ann, other := w.user("ann", 1), w.user("other", 2)
	good := w.daily(ann)
	w.bring(noon.AddDate(0, 0, 1).Add(-15*time.Hour), 2)
	w.clock.Set(noon.AddDate(0, 0, 1))
	w.scribe.fails("", summary.ErrUnavailable)
	for range 2 {
		r, err := w.Generate(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily})
		if err != nil || r.State != digest.Stale || !strings.Contains(r.Err.Error(), summary.ErrUnavailable.Error()) || r.Row.ID != 0 {
			t.Errorf("Generate = %s in row %d because of %v, %v; want %s", r.State, r.Row.ID, r.Err, err, digest.Stale)
		}
		if r.Row.Content != good.Row.Content || r.Row.UserID != ann || r.Window != good.Window {
			t.Errorf("what stands in is %q of [%v, %v)", r.Row.Content, r.Window.Start, r.Window.End)
		}
	}
	if _, err := w.Generate(t.Context(), digest.Request{UserID: other, Kind: digest.Daily}); !errors.Is(err, summary.ErrUnavailable) {
		t.Errorf("a combination that never had one: %v, want %v", err, summary.ErrUnavailable)
	}
	if n := w.rows("digests"); n != 1 {
		t.Errorf("there are %d digests, want the good one", n)
	}
	w.clock.Advance(time.Minute)
	w.scribe.says(nil)
	if r := w.daily(ann); r.State != digest.Ready || r.Row.Content == good.Row.Content {
		t.Errorf("when it can be made again: %s, %q", r.State, r.Row.Content)
	}
}

// Whatever the model writes, the only links are those of the items.
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
	stats, err := w.Stats(t.Context())
	if c := stats.Counts; err != nil || c["links_dropped"] != 1 {
		t.Errorf("the books say %v, %v", c, err)
	}
}

// A caller that leaves does not fail the others, and causes no second call.
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
	until(t, "second who waits", func() bool { return w.Tiers().Stats().Total.Reads.Merged > 0 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: %v", err)
	}
	close(release)
	w.wantSame(bob, <-stays)
	w.wantCalls(1)
	stats, err := w.Stats(t.Context())
	if c := stats.Counts; err != nil || c["requests"] != 2 || c["hits"]+c["merged"] != 1 || c["failures"] != 0 {
		t.Errorf("the books say %v, %v; want one request served, and one given up", c, err)
	}
}
