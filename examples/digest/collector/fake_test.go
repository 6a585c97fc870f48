package collector_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
)

var errFake = errors.New("the fake's secret reason")

// fake is a fetcher that a test controls. It counts its calls.
type fake struct {
	mu     sync.Mutex
	calls  map[string]int // by config
	now    int
	most   int
	result fetchers.Result
	err    error
	do     func(ctx context.Context, s fetchers.Source) (fetchers.Result, error) // replaces result and err
}

func (f *fake) Fetch(ctx context.Context, s fetchers.Source) (fetchers.Result, error) {
	f.mu.Lock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[string(s.Config)]++
	f.now++
	f.most = max(f.most, f.now)
	do, r, err := f.do, f.result, f.err
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now--
	}()
	if do != nil {
		return do(ctx, s)
	}
	return r, err
}

func (f *fake) Address(s fetchers.Source) (string, error) {
	var c struct{ URL string }
	err := json.Unmarshal(s.Config, &c)
	return c.URL, err
}

func (f *fake) set(r fetchers.Result, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result, f.err = r, err
}

func (f *fake) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.calls {
		n += k
	}
	return n
}

// listing is a result with items of the given titles. A guid is the title up to a slash.
func listing(titles ...string) fetchers.Result {
	r := fetchers.Result{Status: 200, Seen: strings.Join(titles, "\n")}
	for _, title := range titles {
		guid, _, _ := strings.Cut(title, "/")
		r.Items = append(r.Items, fetchers.Item{GUID: guid, Title: title})
	}
	return r
}
