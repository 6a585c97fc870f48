package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/web"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// These tests play every order in which the steps of a reader, a writer and a second reader
// can follow each other. An order has a letter for each step:
//
//	R	the reader begins | reads the database | stores the object | stores the response
//	W	the writer commits | the objects apply it | the responses apply it, the writer returns
//	S	the second reader begins, and continues as far as it can
//
// In every order, a read that begins after the write has returned shows the write, and
// nothing older is stored then or later.

func orders(r, w, s int) (all []string) {
	if r+w+s == 0 {
		return []string{""}
	}
	for _, next := range []struct {
		actor string
		left  int
		rest  func() []string
	}{
		{"R", r, func() []string { return orders(r-1, w, s) }},
		{"W", w, func() []string { return orders(r, w-1, s) }},
		{"S", s, func() []string { return orders(r, w, s-1) }},
	} {
		if next.left > 0 {
			for _, rest := range next.rest() {
				all = append(all, next.actor+rest)
			}
		}
	}
	return all
}

// scene is a page to read, and a concurrent write.
type scene struct {
	name     string
	look     func(p *play) (title string)
	steps    int    // of the reader
	warm     bool   // the object of the page is cached; the reader stores no object
	old, new string // titles of the post; empty: no post
}

// scenes are pages with their objects, before and after all possible changes of a post.
func scenes() (all []scene) {
	const before, after = "TITLE-1", "TITLE-2"
	for name, look := range looks {
		for write, titles := range map[string][2]string{"update": {before, after}, "create": {"", after}, "delete": {before, ""}} {
			s := scene{name: write + " and " + name, look: look, steps: 3, old: titles[0], new: titles[1]}
			if strings.HasPrefix(name, "object") {
				all = append(all, s)
				continue
			}
			s.warm = true
			all = append(all, s)
			s.name, s.steps, s.warm = s.name+", from scratch", 4, false
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b scene) int { return strings.Compare(a.name, b.name) })
	return all
}

// looks are reads. Each returns the title that it shows.
var looks = map[string]func(p *play) string{
	"object of a post": func(p *play) string {
		post, err := p.objects.PostBySlug(context.Background(), "a")
		if err != nil && !errors.Is(err, content.ErrNotFound) {
			p.t.Error(err)
		}
		return post.Title
	},
	"object of a feed": func(p *play) string {
		posts, err := p.objects.FeedItems(context.Background(), content.English, 3)
		if err != nil || len(posts) == 0 {
			return ""
		}
		return posts[0].Title
	},
	"page of a post": func(p *play) string { return p.titleAt("/posts/a") },
	"page of a feed": func(p *play) string { return p.titleAt("/rss.xml") },
}

func TestOrders(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for order, wrong := range s.play(t, nil) {
				t.Errorf("%s: %s", order, wrong)
			}
		})
	}
}

// Without a safeguard, some order shows a fault.
func TestOrdersNotice(t *testing.T) {
	for name, link := range map[string]linkOf[play]{
		"responses come first": func(p *play, layer string, own second) invalidate.Log {
			return reversed(layer, own, func(ctx context.Context) error {
				if c := p.live.Load(); c != nil {
					return c.tiers.Ready(ctx)
				}
				return nil
			})
		},
		"objects are skipped":   skips[play]("objects", "absences"),
		"responses are skipped": skips[play]("responses"),
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{look: looks["page of a post"], steps: 3, warm: true, old: "TITLE-1", new: "TITLE-2"}
			// The goroutines of a layer's follower are not in the orders. About one play in a hundred
			// shows nothing, because they run in a harmless order each time.
			for range 5 {
				if len(s.play(t, link)) > 0 {
					return
				}
			}
			t.Error("no order shows it")
		})
	}
}

// gate holds an actor until its next step.
type gate chan struct{}

func (g gate) wait() { <-g }

// pass lets a waiting actor continue to its next gate, and reports whether one waited.
func (g gate) pass() (held bool) {
	select {
	case g <- struct{}{}:
		held = true
	default: // the actor has ended
	}
	synctest.Wait()
	return held
}

// play is the stage of the orders, one after the other.
type play struct {
	*caches
	live           atomic.Pointer[caches] // the same, for their followers; nil at first
	log            *logtest.Memory
	t              *testing.T
	scene          scene
	public         http.Handler
	db             onePost
	reader, writer gate
	atDoor, inside bool // the next call of the handler is the reader's, and waits at its start or at its end
	held           int  // gates at which the reader waited
	actors         sync.WaitGroup

	mu       sync.Mutex       // protects the rest
	turns    map[string]*turn // of the writer, by layer; nil: no turn is awaited
	returned bool             // whether the writer has returned
	wrong    []string
}

// play plays all orders, and returns the faults that readers saw, by order.
func (s scene) play(t *testing.T, link linkOf[play]) (wrong map[string]string) {
	t.Helper()
	wrong = map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, s, link)
		for _, order := range orders(s.steps, 3, 1) {
			if p.reset(); s.warm { // a page of another host is another page, built from the same objects
				p.titleAt("http://"+hosts[1]+"/posts/a", "http://"+hosts[1]+"/rss.xml")
			}
			if p.play(order); len(p.wrong) > 0 {
				wrong[order] = strings.Join(p.wrong, "; ")
			}
			if link == nil && order[0] == 'R' && p.held != s.steps-1 {
				t.Errorf("%s: %d gates held the reader, want %d", order, p.held, s.steps-1)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return wrong
}

func newPlay(t *testing.T, s scene, link linkOf[play]) *play {
	t.Helper()
	p := &play{t: t, scene: s, log: logtest.NewMemory(logtest.MemoryConfig{}), db: onePost{title: s.old}, reader: make(gate), writer: make(gate)}
	var err error
	log := func() invalidate.Log { return p.log }
	p.caches, err = newCaches(p.db.reader(), log, siteConfig{log: slog.New(slog.DiscardHandler), link: func(layer string, own second) invalidate.Log {
		var l invalidate.Log = own
		if link != nil {
			l = link(p, layer, own)
		}
		return through(l, func(page *invalidate.Page) {
			if len(page.Scopes) > 0 {
				p.hold(layer)
			}
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.live.Store(p.caches)
	p.public = web.New(web.Config{Reader: p.objects, Wrap: func(h http.Handler) http.Handler { return p.wrap(p.doors(h)) }})
	return p
}

// turn is a step of the writer in the log of one layer. Several calls may take it at once.
type turn struct {
	taken bool          // a call waits at the writer's gate
	over  chan struct{} // closed when the step is made
}

// hold delays a layer's record of the write until the writer's turn.
func (p *play) hold(layer string) {
	p.mu.Lock()
	step := p.turns[layer]
	first := step != nil && !step.taken
	if first {
		step.taken = true
	}
	p.mu.Unlock()
	if first {
		p.writer.wait()
		close(step.over)
	}
	if step != nil {
		<-step.over
	}
}

// invalidate appends scopes to the log, as a commit does.
func (p *play) invalidate(scopes ...invalidate.Scope) {
	var a invalidate.Append
	for _, s := range scopes {
		a.Scopes = append(a.Scopes, invalidate.Fence{Scope: s})
	}
	if _, err := p.log.Sync(p.t.Context(), invalidate.Cursor{}, a); err != nil {
		p.t.Error(err)
	}
	time.Sleep(time.Nanosecond) //nolint:forbidigo // in a bubble: calls of the log must differ in time
}

func (p *play) reset() {
	p.mu.Lock()
	p.turns, p.returned, p.wrong, p.held = nil, false, nil, 0
	p.mu.Unlock()
	p.db.set(p.scene.old)
	p.invalidate(invalidate.All())
	if err := p.hear(p.t.Context()); err != nil {
		p.t.Error(err)
	}
	synctest.Wait()
}

func (p *play) play(order string) {
	step := map[rune]func(){'R': p.read, 'W': p.write, 'S': func() { p.look("the second reader") }}
	for _, actor := range order {
		step[actor]()
		switch actor {
		case 'R':
			step['R'] = func() {
				if p.reader.pass() {
					p.held++
				}
			}
		case 'W':
			step['W'] = func() { p.writer.pass() }
		}
	}
	p.actors.Wait()
	for range 2 { // the second time, the stored response, or the one that was stored the first time
		if got := p.scene.look(p); got != p.scene.new {
			p.wrong = append(p.wrong, fmt.Sprintf("in the end %q is shown", got))
		}
	}
}

// doors make the reader's rendering wait at its start or at its end.
func (p *play) doors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		atDoor, inside := p.atDoor, p.inside
		p.atDoor, p.inside = false, false
		if atDoor {
			p.reader.wait()
		}
		next.ServeHTTP(w, r)
		if inside {
			p.reader.wait()
		}
	})
}

// read starts the reader, which runs to its first gate. Later requests do not wait there.
func (p *play) read() {
	p.atDoor, p.inside = p.scene.warm, p.scene.warm || p.scene.steps == 4
	if !p.scene.warm {
		p.db.stop = p.reader
	}
	p.look("the reader")
	p.atDoor, p.inside, p.db.stop = false, false, nil
}

// look makes a read. It must show the write if the write has returned.
func (p *play) look(who string) {
	p.mu.Lock()
	fresh := p.returned
	p.mu.Unlock()
	p.actors.Go(func() {
		if got := p.scene.look(p); got != p.scene.new && (fresh || got != p.scene.old) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.wrong = append(p.wrong, fmt.Sprintf("%s was shown %q; the write had returned: %v", who, got, fresh))
		}
	})
	synctest.Wait()
}

// write starts the writer: it commits, and waits until the layers have applied the record.
func (p *play) write() {
	p.db.set(p.scene.new)
	all := published
	p.mu.Lock()
	p.turns = map[string]*turn{"objects": {over: make(chan struct{})}, "responses": {over: make(chan struct{})}}
	p.mu.Unlock()
	p.invalidate(postOne()...)
	p.actors.Go(func() {
		if err := p.consumer.Publish(p.t.Context(), all...); err != nil {
			p.t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.returned = true
	})
	synctest.Wait()
}

// titleAt requests some URLs in sequence, and returns the title at the last one.
func (p *play) titleAt(urls ...string) (title string) {
	for _, url := range urls {
		w := httptest.NewRecorder()
		p.public.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, http.NoBody))
		_, rest, _ := strings.Cut(w.Body.String(), "TITLE-")
		if title = ""; rest != "" {
			title = "TITLE-" + rest[:1]
		}
	}
	return title
}

// published are the events of the one post.
var published = events.Post(content.Summary{}, content.Summary{ID: 1, Slug: "a", Lang: content.English, Status: content.Published})

func postOne() []invalidate.Scope { return events.MakePlan(published).Objects }
