package rules_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// A long Vary is refused after its first names, so a server cannot make its client compare them all.
func TestLongVary(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint("X-", i))
	}
	for _, lines := range [][]string{{strings.Join(names, ",")}, names} {
		asked := 0
		_, ok := rules.Learned(http.Header{"Vary": lines}, false, func(string) bool { asked++; return false })
		if ok || asked > 20 {
			t.Errorf("ok %v after %d of %d names", ok, asked, len(names))
		}
	}
}
