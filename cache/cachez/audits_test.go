package cachez_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/policy"
)

// The page shows how fresh the hits are, and the last stale ones. It shows their keys only to those
// who may see keys.
func TestAudits(t *testing.T) { synctest.Test(t, testAudits) }

func testAudits(t *testing.T) {
	noIndex := func(c *cachez.Config) { c.Index = nil }
	for name, tt := range map[string]struct {
		change func(*cachez.Config)
		keys   bool
	}{
		"with an index":        {func(*cachez.Config) {}, true},
		"without an index":     {noIndex, false},
		"keys are allowed":     {func(c *cachez.Config) { noIndex(c); c.AuthorizeKeys = func(*http.Request) bool { return true } }, true},
		"keys are not allowed": {func(c *cachez.Config) { c.AuthorizeKeys = func(*http.Request) bool { return false } }, false},
	} {
		p := newProgram(t, tt.change)
		if strings.Contains(p.get("").Body.String(), "Fresh hits") {
			t.Errorf("%s: a share without an audit", name)
		}
		var value atomic.Value
		value.Store(secret)
		c, err := cache.New(p.tiers, cache.Config[int, string]{
			Namespace: "audited", Policy: policy.Patch{Audit: new(1.0), TTL: new(time.Hour)},
			Load: func(context.Context, int) (string, error) { return value.Load().(string), nil },
			Tags: func(int, string) []string { return []string{"number"} },
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func(k int) {
			_, _ = c.Get(t.Context(), k)
			_, _ = c.Get(t.Context(), k)
			<-time.After(10 * time.Second)
			synctest.Wait()
		}
		read(1)
		if _, text := elements(t, p.get("").Body.String()); !strings.Contains(text, "more than 0.1 nines") {
			t.Errorf("%s: one fresh hit:\n%s", name, text)
		}
		_, _ = c.Get(t.Context(), 1)
		value.Store(secret + "2")
		<-time.After(10 * time.Second)
		synctest.Wait()
		body := p.get("").Body.String()
		_, text := elements(t, body)
		if !strings.Contains(text, "between 0.0 and 1.0 nines") || strings.Contains(body, secret) {
			t.Errorf("%s: a stale hit of two:\n%s", name, text)
		}
		if got := strings.Contains(body, "default:audited:1") && strings.Contains(body, "default:number"); got != tt.keys {
			t.Errorf("%s: the page has the key: %v, want %v", name, got, tt.keys)
		}
		var all struct {
			Overview struct {
				Audits struct {
					Spaces []struct {
						Name      string
						Sample    int64
						Low, High float64
					}
					Stale []struct{ Key, Source string }
				}
			}
		}
		if err := json.Unmarshal(p.get("?format=json").Body.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		a := all.Overview.Audits
		if len(a.Spaces) != 1 || a.Spaces[0].Name != "audited" || a.Spaces[0].Sample != 2 || math.Abs(a.Spaces[0].Low+a.Spaces[0].High-1) > 1e-9 ||
			len(a.Stale) != 1 || a.Stale[0].Source != "local" || (a.Stale[0].Key != "") != tt.keys {
			t.Errorf("%s: JSON has %s", name, fmt.Sprintf("%+v", a))
		}
	}
}
