// Package bench measures what the source document promises of the digest cache: how many
// calls of a model it spares a growing population, and how long what costs no call takes.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/population"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// ErrMissed is wrapped by the error of a bench that fell short of a promised figure.
var ErrMissed = errors.New("bench: promised figures were missed")

// Config says what is measured. Only Out is required.
type Config struct {
	Sizes []int // users; nil: those of population.Table
	Rows  int   // of the table that is looked up in; 0: 10,000
	Ops   int   // how often what is timed is done; 0: 2,000
	Seed  uint64

	Out io.Writer
	Log *slog.Logger // nil: slog.Default
}

// Run measures, prints tables, and returns an error that wraps [ErrMissed] if a promised
// figure was missed. It works in temporary files, which it removes.
func Run(ctx context.Context, cfg Config) (err error) {
	if cfg.Sizes == nil {
		for _, row := range population.Table() {
			cfg.Sizes = append(cfg.Sizes, row.Users)
		}
	}
	if cfg.Rows == 0 {
		cfg.Rows = 10_000
	}
	if cfg.Ops == 0 {
		cfg.Ops = 2_000
	}
	dir, err := os.MkdirTemp("", "digest-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{Config: cfg, dir: dir}
	if err := b.ratios(ctx); err != nil {
		return err
	}
	if err := b.times(ctx); err != nil {
		return err
	}
	if b.missed > 0 {
		return fmt.Errorf("%w: %d of them", ErrMissed, b.missed)
	}
	return nil
}

type bench struct {
	Config
	dir    string
	files  int
	missed int
}

// table starts a table, whose lines are cells with tabs between them.
func (b *bench) table(title string) *tabwriter.Writer {
	fmt.Fprintln(b.Out, title)
	return tabwriter.NewWriter(b.Out, 0, 0, 2, ' ', 0)
}

// verdict judges a figure.
func (b *bench) verdict(kept bool) string {
	if kept {
		return "ok"
	}
	b.missed++
	return "MISSED"
}

// scribe writes what it is told by the summariser that the program comes with, and counts.
type scribe struct {
	summary.Extractive
	calls atomic.Int64
}

func (s *scribe) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	s.calls.Add(1)
	return s.Extractive.Summarise(ctx, r)
}

// world is a program on a new database, with sources that brought something the day
// before, packs of them, and a population.
type world struct {
	*app.App
	path   string
	scribe *scribe
	log    *slog.Logger
}

// noon is when it is in every world: in the middle of a day, in Singapore.
var noon = time.Date(2026, time.February, 25, 4, 0, 0, 0, time.UTC)

// open opens a program on a database. Times in it are about noon.
func (w *world) open(ctx context.Context) (*app.App, error) {
	return app.Open(ctx, app.Config{DB: w.path, Now: func() time.Time { return noon }, Summariser: w.scribe, Log: w.log})
}

func (b *bench) newWorld(ctx context.Context, users int, uniform bool) (*world, error) {
	b.files++
	w := &world{path: filepath.Join(b.dir, fmt.Sprint("digest", b.files, ".db")), scribe: &scribe{}, log: b.Log}
	cfg := population.Config{Users: users, Seed: b.Seed, Uniform: uniform}
	if err := w.fill(ctx, cfg); err != nil {
		return nil, err
	}
	var err error
	w.App, err = w.open(ctx)
	return w, err
}

// fill makes the database, on the day before.
func (w *world) fill(ctx context.Context, cfg population.Config) (err error) {
	s, err := store.Open(ctx, w.path, store.Options{Now: func() time.Time { return noon.AddDate(0, 0, -1) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if cfg.Sources, cfg.Packs, err = newsroom.Install(ctx, s, "https://news.example"); err != nil {
		return err
	}
	err = s.Write(ctx, func(tx *store.Tx) error {
		for _, id := range cfg.Sources {
			if _, err := tx.AddItems(ctx, id, items(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return population.Fill(ctx, s, cfg)
}

// items are what a source brought.
func items(source int64) (all []store.Item) {
	for n := range 5 {
		url := fmt.Sprintf("https://news.example/%d/%d", source, n)
		all = append(all, store.Item{
			GUID: url, URL: url, Title: fmt.Sprintf("Item %d of source %d", n, source),
			Content: "The harbour opened a second quay on Monday. Ferries run every twenty minutes from there.",
		})
	}
	return all
}
