package demo

import (
	"context"
	"sync"
	"unicode"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// meter counts what a summariser is asked, whoever asks it: what is paid for is counted
// where it would be.
type meter struct {
	summary.Summariser

	mu    sync.Mutex // protects spent
	spent map[digest.Kind]spending
}

type spending struct{ calls, tokens int64 }

func newMeter(next summary.Summariser) *meter {
	return &meter{Summariser: next, spent: map[digest.Kind]spending{}}
}

// Summarise asks, and counts.
func (m *meter) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	got, err := m.Summariser.Summarise(ctx, r)
	tokens := got.Tokens
	if tokens == 0 {
		tokens = estimate(r.Items) + count(got.Markdown)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	spent := m.spent[digest.Kind(r.Kind)]
	m.spent[digest.Kind(r.Kind)] = spending{spent.calls + 1, spent.tokens + tokens}
	return got, err
}

// spending returns what was spent on digests of a kind.
func (m *meter) spending(k digest.Kind) spending {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent[k]
}

func (m *meter) count(k digest.Kind) int64 { return m.spending(k).calls }

// estimate guesses what a model would have read: each item, up to the length and the
// budget that package summary keeps to.
func estimate(items []summary.Item) int64 {
	const perItem, wrapping = 400, 30
	var n int64
	for _, it := range items {
		n += count(it.Source+it.Title+it.URL) + min(count(it.Text), perItem) + wrapping
	}
	return min(n, summary.DefaultInputTokens)
}

// count guesses how many tokens a text has: four letters make one in English, and a
// Chinese character is one, sometimes two.
func count(s string) int64 {
	quarters := int64(3)
	for _, r := range s {
		quarters++
		if unicode.Is(unicode.Han, r) {
			quarters += 4
		}
	}
	return quarters / 4
}
