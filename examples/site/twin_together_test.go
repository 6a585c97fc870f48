package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

const together = 3 // the number of readers, and of writers

// crowd starts readers of the cached twin. share is the share of hits so far. end stops them.
func (w *twins) crowd(t *testing.T, seed uint64) (share func() float64, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var reads, hits atomic.Int64
	for i := range together {
		roll := rand.New(rand.NewPCG(seed, uint64(i)+100)).IntN
		wg.Go(func() {
			for ctx.Err() == nil {
				_, cacheStatus := w.ask(w.cached, w.request(roll))
				reads.Add(1)
				if strings.Contains(cacheStatus, hit) {
					hits.Add(1)
				}
			}
		})
	}
	return func() float64 { return float64(hits.Load()) / float64(max(reads.Load(), 1)) }, func() { cancel(); wg.Wait() }
}

func scaled(steps int) int {
	if raceEnabled {
		return steps / 10
	}
	return steps
}

// During concurrent reads, a writer's read after its write is right, and so are all pages in the
// end.
func TestTwinsInACrowd(t *testing.T) {
	w, seed := newTwins(t, control{}), uint64(time.Now().UnixNano())
	defer w.close()
	share, end := w.crowd(t, seed)
	roll := rand.New(rand.NewPCG(seed, 0)).IntN
	steps := scaled(300)
	for n := 0; n < steps || share() < minHits && n < 10*steps; n++ { // the first reads are no hits
		did := w.write(roll)
		for range 2 {
			if d := w.differ(w.cached, w.request(roll)); d != "" {
				end()
				t.Fatalf("seed %d, after %s: %s", seed, did, d)
			}
		}
	}
	if end(); share() < minHits {
		t.Errorf("only %.0f%% of the readers' reads were hits", 100*share())
	}
	if d := w.everywhere(); d != "" {
		t.Errorf("seed %d, in the end: %s", seed, d)
	}
}

// Each of several writers sees its own writes at once, and in the end all pages are right.
func TestWritersSeeTheirOwn(t *testing.T) {
	w, seed := newTwins(t, control{}), uint64(time.Now().UnixNano())
	defer w.close()
	all := twinSettings(hosts[0], 20)
	all.FeedItems = 20
	if did, reply := w.send(http.MethodPut, "/settings", all); reply == "" {
		t.Fatal(did)
	}
	_, end := w.crowd(t, seed)
	var wg sync.WaitGroup
	for i := range together {
		a := &author{w: w, slug: pools["post"][i], id: int64(i) + 1, lang: content.Langs[i/2]}
		wg.Go(func() {
			for n := range scaled(100) {
				if err := a.write(n); err != nil {
					t.Errorf("writer %d, write %d: %v", i, n, err)
					return
				}
			}
		})
	}
	wg.Wait()
	end()
	if d := w.everywhere(); d != "" {
		t.Errorf("seed %d, in the end: %s", seed, d)
	}
}

type author struct {
	w    *twins
	slug string
	lang content.Lang
	id   int64 // 0: the post is deleted
}

// write makes the n-th write, and checks that it is visible.
func (a *author) write(n int) error {
	mark := fmt.Sprintf("MARK-%s-%d.", a.slug, n)
	in := service.PostInput{Slug: a.slug, Title: mark, Body: "b", Lang: a.lang, Status: content.Published, Tags: []string{"go"}}
	method, path := http.MethodPut, fmt.Sprintf("/posts/%d", a.id)
	switch {
	case a.id == 0:
		method, path = http.MethodPost, "/posts"
	case n%5 == 4:
		method = http.MethodDelete
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	status, reply := a.w.call(method, path, body)
	if status/100 != 2 || status == http.StatusAccepted {
		return fmt.Errorf("%s %s = %d: %s", method, path, status, reply)
	}
	var p content.Post
	if method != http.MethodDelete {
		if err := json.Unmarshal([]byte(reply), &p); err != nil {
			return err
		}
	}
	a.id = p.ID
	return a.look(mark)
}

// look checks that all pages show the mark, or, if the post is deleted, that none shows the post.
func (a *author) look(mark string) error {
	own := a.lang.Path("/posts/" + a.slug)
	for _, target := range []string{own, a.lang.Path("/"), a.lang.Path("/rss.xml"), a.lang.Path("/tags/go"), "/sitemap.xml"} {
		sign, want := mark, a.id != 0
		if !want {
			sign = "MARK-" + a.slug
		}
		if target == "/sitemap.xml" {
			sign = own + "<"
		}
		r, cacheStatus := a.w.ask(a.w.cached, a.w.plainly(target))
		if strings.Contains(r.Body, sign) != want {
			return fmt.Errorf("%s has %q: %v, want %v; %s", target, sign, !want, want, cacheStatus)
		}
	}
	return nil
}
