package digest_test

import (
	"context"
	"errors"
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

// A failing model is called once in a moment, however many users and processes ask. Nothing is
// stored. Afterwards, or when an operator deletes everything, it is called again.
func TestFailuresAreRememberedForAMoment(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		err  error
		want error
	}{
		"a server that fails":  {"", summary.ErrUnavailable, summary.ErrUnavailable},
		"text that is cut off": {"half a te", summary.ErrTruncated, summary.ErrTruncated},
		"no text":              {" \n", nil, summary.ErrEmpty},
		"a limit":              {"", &summary.RateLimitError{Until: time.Now().Add(time.Hour)}, summary.ErrRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			ann, bob := w.user("ann", 1), w.user("bob", 1)
			other, _ := w.process()
			w.scribe.fails(tt.text, tt.err)
			for n := range 20 {
				s := []*digest.Service{w.Service, other}[n%2]
				_, err := s.Generate(t.Context(), digest.Request{UserID: []int64{ann, bob}[n/2%2], Kind: digest.Daily})
				if err == nil || n == 0 && !errors.Is(err, tt.want) {
					t.Fatalf("Generate = %v, want %v", err, tt.want)
				}
			}
			w.wantCalls(1)
			if a, b := w.rows("digest_cache"), w.rows("digests"); a+b > 0 {
				t.Errorf("there are %d rows in the cache and %d digests, want none", a, b)
			}
			stats, err := w.Stats(t.Context())
			if c := stats.Counts; err != nil || c["llm_calls"] != 1 || c["llm_errors"] != 1 || c["failures"] == 0 {
				t.Errorf("the books say %v, %v", c, err)
			}
			w.scribe.says(nil)
			if n, err := w.Forget(t.Context(), store.CacheSelection{All: true}, "test"); err != nil || n != 0 {
				t.Errorf("Forget = %d, %v; want none: there is no digest", n, err)
			}
			w.wantSame(ann, w.daily(ann))
			w.wantCalls(2)
		})
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
