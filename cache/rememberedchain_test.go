package cache_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/twofold-go/twofold/cache"
)

// response is a large object that a loader's error refers to.
type response struct{ body [1 << 20]byte }

type responseError struct{ r *response }

func (e *responseError) Error() string { return "the answer was 500 " + string(e.r.body[:2]) }

// Of a remembered error the cache keeps the code, the text, and a Coder. It does not keep other
// objects alive that the error refers to.
func TestRememberedErrorKeepsTextAlone(t *testing.T) {
	var kept weak.Pointer[response]
	tiers := open(t, cache.TiersConfig{})
	loads := 0
	c := with(t, tiers, thingConfig{
		Policy: patch{ErrorTTL: new(time.Hour)},
		Load: func(context.Context, int) (string, error) {
			loads++
			r := new(response)
			copy(r.body[:], "ok")
			kept = weak.Make(r)
			return "", &responseError{r}
		},
	})
	func() { // the caller that loads gets the original error
		_, err := c.Get(t.Context(), 1)
		if re, ok := errors.AsType[*responseError](err); !ok || re.r == nil {
			t.Errorf("Get = %v, want the loader's error", err)
		}
	}()
	for range 1000 { // the load's goroutine may not have ended yet
		if runtime.GC(); kept.Value() == nil {
			break
		}
	}
	if kept.Value() != nil {
		t.Error("the remembered error keeps alive an object that the loader's error refers to")
	}
	_, err := c.Get(t.Context(), 1)
	re, ok := errors.AsType[*cache.RememberedError](err)
	if !ok || re.Code != "error" || !strings.Contains(err.Error(), "the answer was 500 ok") {
		t.Errorf("second Get = %v, want the code and the text", err)
	}
	if loads != 1 {
		t.Errorf("%d loads, want 1", loads)
	}
}
