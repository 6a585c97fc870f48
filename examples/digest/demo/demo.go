// Package demo runs the whole program through a day in seconds, with invented feeds and
// users. Two instances of the program share one database, as two processes would. The
// demonstration controls their clock.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/setup"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// ErrMissed means that a step did not have the promised result.
var ErrMissed = errors.New("demo: a step did not have the promised result")

// Config describes a demonstration. The zero value is ready to use, and prints nothing.
type Config struct {
	Users  int                                                      // 0 means 1000
	DB     string                                                   // a file that must not exist. Empty means a temporary one
	Out    io.Writer                                                // gets two lines for each step. Nil means io.Discard
	Meddle func(ctx context.Context, step string, a *app.App) error // for tests: called before each step, unless nil
}

// Run runs the demonstration. The error wraps [ErrMissed] if a step missed its promise.
func Run(ctx context.Context, cfg Config) (err error) {
	cfg.Users, cfg.Out = cmp.Or(cfg.Users, 1000), cmp.Or(cfg.Out, io.Discard)
	if cfg.Users < 10 || cfg.Users > 100_000 {
		return fmt.Errorf("demo: Users must be from 10 to 100,000, not %d", cfg.Users)
	}
	if _, err := os.Stat(cfg.DB); err == nil { // invented users must not mix with real ones
		return fmt.Errorf("demo: the database %s: %w", cfg.DB, fs.ErrExist)
	}
	if cfg.DB == "" {
		dir, err := os.MkdirTemp("", "digest-demo")
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		cfg.DB = filepath.Join(dir, "digest.db")
	}
	fmt.Fprintf(cfg.Out, "A day of %d users on %d invented feeds. Each step names the call that does it.\n\n", cfg.Users, len(outlets))
	s := &story{Config: cfg}
	s.press = press{clock: &s.clock, began: time.Date(2026, time.February, 24, 16, 0, 0, 0, time.UTC)} // midnight in Singapore
	s.clock.set(s.press.began)
	server := httptest.NewServer(&s.press)
	s.base = server.URL
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		for _, a := range s.opened {
			err = errors.Join(err, a.Close(ctx))
		}
		server.Close()
	}()
	if s.first, err = s.program(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return s.tell(ctx)
}

type meter struct {
	summary.Extractive
	calls atomic.Int64
}

// Summarise implements [summary.Summariser].
func (m *meter) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	m.calls.Add(1)
	return m.Extractive.Summarise(ctx, r)
}

type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time   { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) set(at time.Time) { c.ms.Store(at.UnixMilli()) }

// program opens the program on the database.
func (s *story) program(ctx context.Context) (*app.App, error) {
	a, err := app.Open(ctx, app.Config{
		DB: s.DB, Summariser: &s.meter, Now: s.clock.now, Log: slog.New(slog.DiscardHandler), AllowPrivate: true,
		Env:      map[string]string{"COLLECTOR_PER_HOST": "8", "COLLECTOR_CONCURRENCY": "8"}, // all sources are on one host
		Services: fetchers.Config{Share: -1},                                                 // the day takes seconds
	})
	if err == nil {
		s.opened = append(s.opened, a)
	}
	return a, err
}

var (
	outlets = []string{
		"Ledger Daily", "Harbour Herald", "Compiler Weekly", "Field Notes", "城市早报",
		"Night Shift", "Open Orchard", "Signal Path", "Small Courts", "Tide Tables",
	}
	subjects = []string{"rents", "the ferry", "the linker", "wetlands", "夜市", "the night train", "frost"}
)

type press struct {
	clock       *clock
	began       time.Time
	asked, same atomic.Int64 // requests, and answers with 304
}

// ServeHTTP serves the newest items of an outlet as RSS 2.0 at /feed/N.
func (p *press) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(path.Base(r.URL.Path))
	if err != nil || n < 0 || n >= len(outlets) {
		http.NotFound(w, r)
		return
	}
	p.asked.Add(1)
	every := time.Duration(30+15*n) * time.Minute
	count := int(p.clock.now().Sub(p.began)/every) + 1
	etag := fmt.Sprintf(`"%d-%d"`, n, count)
	w.Header().Set("Date", p.clock.now().Format(http.TimeFormat))
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		p.same.Add(1)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/rss+xml")
	fmt.Fprintf(w, `<rss version="2.0"><channel><title>%s</title>`, html.EscapeString(outlets[n]))
	for i := max(0, count-20); i < count; i++ {
		subject := subjects[(n+i)%len(subjects)]
		fmt.Fprintf(w, `<item><guid>%d-%d</guid><link>http://%s/item/%[1]d/%[2]d</link><pubDate>%[4]s</pubDate><title>%[5]s: %[6]s, part %[2]d</title>`+
			`<description>There is news of %[6]s today. Nobody had expected it before part %[2]d. More on %[6]s is to follow.</description></item>`,
			n, i, r.Host, p.began.Add(time.Duration(i)*every).Format(time.RFC1123Z), html.EscapeString(outlets[n]), subject)
	}
	fmt.Fprint(w, `</channel></rss>`)
}

// crowd returns sources and users. Two users of three add one or two sources to the essentials.
func crowd(base string, users int) (f setup.File) {
	for i, name := range outlets {
		config := fmt.Appendf(nil, `{"url": "%s/feed/%d", "fetch_interval_minutes": 30}`, base, i)
		f.Sources = append(f.Sources, setup.Source{Name: name, Type: "rss", Config: config})
	}
	f.Packs = []setup.Pack{{Slug: "essentials", Name: "Essentials", Default: true, Sources: outlets[:4]}}
	for i := range users {
		dice := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // an invented crowd
		u := setup.User{Slug: fmt.Sprint("user", i), Name: fmt.Sprint("User ", i), Email: fmt.Sprintf("user%d@example.com", i)}
		for range i % 3 {
			u.Sources = append(u.Sources, outlets[4+int(6*dice.Float64()*dice.Float64())])
		}
		f.Users = append(f.Users, u)
	}
	return f
}
