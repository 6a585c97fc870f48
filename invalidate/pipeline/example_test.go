package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// pages is a cache of responses with an index: the registry knows which page
// shows what, so that an invalidation drops those and no other.
type pages struct {
	index *invalidate.Registry

	mu   sync.Mutex // protects the rest
	body map[string]page
}

type page struct {
	text  string
	token invalidate.Token
}

// put registers the page before anybody can see it.
func (p *pages) put(path, text string, entities ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	token, err := p.index.Register(path, entities...)
	if err != nil {
		return err // not stored: an invalidation would not find it
	}
	p.body[path] = page{text: text, token: token}
	return nil
}

// Invalidate is a stage.
func (p *pages) Invalidate(_ context.Context, entities []string, all bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, was := range p.body {
		if !all && !slices.ContainsFunc(entities, func(e string) bool { return slices.Contains(p.index.Keys(e), path) }) {
			continue
		}
		fmt.Println("dropped", path)
		p.index.Unregister(path, was.token)
		delete(p.body, path)
	}
	return nil
}

func Example() {
	ctx := context.Background()
	cached := &pages{index: invalidate.NewRegistry(invalidate.RegistryConfig{}), body: map[string]page{}}
	ready := make(chan string)
	events, err := pipeline.NewConsumer(pipeline.NewQueue(pipeline.QueueConfig{}), pipeline.Config{
		Stages:   []pipeline.Stage{{Name: "pages", Invalidate: cached.Invalidate}},
		Debounce: time.Millisecond,
		Warm: func(_ context.Context, w *pipeline.Warmup) error {
			path, ok := strings.CutPrefix(w.Name, "page ")
			if !ok {
				return fmt.Errorf("no such warm-up")
			}
			text := "rendered anew"
			entities := []string{"post:7", "posts"} // as the rendering found them
			err := w.Commit(func() error { return cached.put(path, text, entities...) }, entities...)
			ready <- path
			return err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	go events.Run(ctx) // for what no writer has consumed
	if err := errors.Join(cached.put("/", "…", "post:7", "posts"), cached.put("/about", "…", "page:about")); err != nil {
		log.Fatal(err)
	}

	// A post was saved. When Apply returns, no page shows what it was.
	if err := events.Apply(ctx, pipeline.Event{
		Key: "save 7, version 12", Subject: "post:7",
		Invalidates: []string{"post:7", "posts"},
		Warms:       []string{"page /"},
	}); err != nil {
		log.Print(err) // it is saved all the same, and Run tries again
	}
	fmt.Println("warmed up", <-ready)
	fmt.Println("shown on", cached.index.Keys("post:7"))
	if err := events.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// dropped /
	// warmed up /
	// shown on [/]
}

// Plans are the union of what to invalidate, and the last word on what to warm
// up.
func ExampleMerge() {
	q := pipeline.NewQueue(pipeline.QueueConfig{})
	for i, slugs := range [][2]string{{"a", "b"}, {"b", "c"}} {
		if _, err := q.Publish(pipeline.Event{
			Key: fmt.Sprint("move ", i), Subject: "post:7",
			Invalidates: []string{"slug:" + slugs[0], "slug:" + slugs[1]},
			Warms:       []string{"page /" + slugs[1]},
		}); err != nil {
			log.Fatal(err)
		}
	}
	p := pipeline.Merge(q.Drain(100))
	fmt.Println("invalidate", p.Entities)
	for _, w := range p.Warms {
		fmt.Println("warm up", w.Name, "for", w.Subjects, "as of", w.Epoch)
	}
	// Output:
	// invalidate [slug:a slug:b slug:c]
	// warm up page /c for [post:7] as of 2
}
