package logtest_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func keyFence(n uint64) []invalidate.Fence {
	k, _ := key.Parse(fmt.Sprint("t:n:", n)) // is valid
	return []invalidate.Fence{{Scope: invalidate.Key(k)}}
}

func tagFence(n uint64) []invalidate.Fence {
	return []invalidate.Fence{{Scope: invalidate.Tag("t", fmt.Sprint(n))}}
}

func both(n uint64) invalidate.Append {
	return invalidate.Append{Keys: keyFence(n), Scopes: tagFence(n)}
}

func mustSync(t *testing.T, l invalidate.Log, at invalidate.Cursor, a invalidate.Append) invalidate.Page {
	t.Helper()
	page, err := l.Sync(t.Context(), at, a)
	if err != nil {
		t.Fatalf("Sync = %v", err)
	}
	return page
}

// end returns the cursor after a page.
func end(p invalidate.Page) invalidate.Cursor {
	return invalidate.Cursor{Key: p.Keys[len(p.Keys)-1].At, Scope: p.Scopes[len(p.Scopes)-1].At}
}
