package main

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestStory runs on virtual time, in which computing takes no time.
func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const want = `process 1: articles.Fetch: version 1 from load in 10ms
process 1: articles.Fetch: version 1 from local in 0s
process 2: articles.Fetch: version 1 from remote in 0s
tiers.Invalidate of a tag and tiers.Settle, then 64 goroutines of both processes call articles.Get: 2 loads so far
articles.Delete and tiers.Settle while process 2 cannot reach the log: 1s, one bound, until its lease has run out
process 2: articles.Fetch: version 3 from load in 10ms
`
		var out bytes.Buffer
		if err := tell(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
