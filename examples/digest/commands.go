package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/demo"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/setup"
)

type demoCmd struct {
	Users int    `default:"1000" help:"How many users, from 10 to 100,000 (${default})."`
	DB    string `name:"db" help:"The database's file, which must not be there yet (default: a temporary one)." placeholder:"FILE"`
}

// Run demonstrates.
func (c *demoCmd) Run(p *program) error {
	return demo.Run(p, demo.Config{Users: c.Users, DB: c.DB, Out: p.out})
}

type importCmd struct {
	database
	File string `arg:"" type:"existingfile" help:"What to add: see package setup."`
}

// Run imports.
func (c *importCmd) Run(p *program) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	file, err := setup.Read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return c.with(p, nil, func(a *app.App) error {
		done, err := setup.Import(p, a.Store, file)
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		fmt.Fprintf(p.out, "added %d sources, %d packs, %d users\n", done.Sources, done.Packs, done.Users)
		for _, slug := range slices.Sorted(maps.Keys(done.Keys)) {
			fmt.Fprintf(p.out, "key of %s: %s\n", slug, done.Keys[slug])
		}
		return a.Collector.SourcesChanged(p)
	})
}

type serveCmd struct {
	database
	Addr     string   `default:"127.0.0.1:8080" help:"Where to listen (${default})."`
	BaseURL  string   `name:"base-url" help:"What links in feeds begin with (default: http:// and the address)." placeholder:"URL"`
	Collect  bool     `default:"true" negatable:"" help:"Fetch sources when they are due (${default})."`
	Generate []string `default:"daily" help:"Generate these types for all users when a period closes; 'none' for none (${default})."`
}

// Run serves until the program is told to end.
func (c *serveCmd) Run(p *program) error {
	kinds, err := kindsOf(c.Generate)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(p, "tcp", c.Addr)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server has closed it, unless it never began
	var key string
	own := func(cfg *app.Config) {
		if cfg.Key == "" {
			key = rand.Text()
			cfg.Key = key
		}
		cfg.BaseURL = cmp.Or(c.BaseURL, "http://"+l.Addr().String())
	}
	return c.with(p, own, func(a *app.App) error {
		fmt.Fprintf(p.out, "serving at http://%s/\n", l.Addr())
		if key != "" {
			fmt.Fprintf(p.out, "the operator's key, until the program ends (API_KEY sets one): %s\n", key)
		}
		return a.Serve(p, p.kill, app.Serving{Listener: l, Collect: c.Collect, Generate: kinds})
	})
}

// kindsOf reads types of digests; "none" alone is none.
func kindsOf(names []string) (kinds []digest.Kind, err error) {
	if len(names) == 1 && names[0] == "none" {
		return nil, nil
	}
	for _, name := range names {
		kind, err := digest.ParseKind(name)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

type collectCmd struct {
	database
	Loop   bool  `xor:"what" help:"Go on until the program is told to end."`
	Source int64 `xor:"what" help:"Fetch this source alone, due or not." placeholder:"ID"`
}

// Run collects.
func (c *collectCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		if c.Source != 0 {
			report, err := a.Collector.CollectSource(p, c.Source)
			if err != nil {
				return err
			}
			switch {
			case report.Returned:
				err = pool.ErrCut
			case report.Error != "":
				err = fmt.Errorf("source %d: %s", c.Source, report.Error)
			}
			return errors.Join(printJSON(p, report), err)
		}
		collect := a.Collector.RunOnce
		if c.Loop {
			collect = a.Collector.Run
		}
		return errors.Join(collect(p, p.kill), printJSON(p, a.Collector.Counts()))
	})
}

type generateCmd struct {
	database
	Type string `default:"daily" enum:"4h,daily,weekly,monthly" help:"4h, daily, weekly or monthly (${default})."`
	User int64  `help:"This user alone; prints the digest (default: all users)." placeholder:"ID"`
}

// Run generates.
func (c *generateCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		if c.User != 0 {
			res, err := a.Digests.Generate(p, digest.Request{UserID: c.User, Kind: digest.Kind(c.Type)})
			if err != nil {
				return err
			}
			fmt.Fprintf(p.err, "%s, from %s: %s to %s\n", res.State, cmp.Or(res.Origin, "nowhere"),
				res.Window.Start.Format(time.RFC3339), res.Window.End.Format(time.RFC3339))
			fmt.Fprintln(p.out, res.Row.Content)
			return res.Err
		}
		report, err := a.GenerateAll(p, digest.Kind(c.Type))
		return errors.Join(err, printJSON(p, report), report.Err())
	})
}

type verifyCmd struct {
	database
	Fix bool `help:"Correct them."`
}

// Run verifies.
func (c *verifyCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		found, err := a.Store.Verify(p, c.Fix)
		if err != nil {
			return err
		}
		for _, d := range found {
			fmt.Fprintf(p.out, "user %d: kept %s, want %s\n", d.UserID, cmp.Or(d.Kept, "nothing"), d.Want)
		}
		if c.Fix {
			_, err = fmt.Fprintf(p.out, "%d users corrected\n", len(found))
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%d users: kept hashes are not those of the subscriptions", len(found))
		}
		_, err = fmt.Fprintln(p.out, "all kept hashes are those of the subscriptions")
		return err
	})
}

func printJSON(p *program, v any) error {
	out := json.NewEncoder(p.out)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

const closing = 10 * time.Second

// database is what most commands need. A flag wins over the environment, which wins over the .env file.
type database struct {
	file
	Redis   string `help:"A Redis where processes share cells instead of in the file, as a URL; the same for all of them (DIGEST_REDIS)." placeholder:"URL"`
	Zone    string `help:"Whose calendar periods follow (DIGEST_ZONE; default: the database's, or Asia/Singapore for a new one)." placeholder:"ZONE"`
	Private bool   `name:"allow-private" help:"Fetch from private addresses, too."`
}

type file struct {
	DB      string `name:"db" help:"The database's file, made if there is none (DIGEST_DB; default: digest.db)." placeholder:"FILE"`
	EnvFile string `name:"env-file" help:"Settings that the environment does not have (default: .env, if there is one)." placeholder:"FILE"`
}

func (d *database) with(p *program, change func(c *app.Config), fn func(a *app.App) error) error {
	cfg, err := d.config(p)
	if err != nil {
		return err
	}
	if change != nil {
		change(&cfg)
	}
	a, err := app.Open(p, cfg)
	if err != nil {
		return err
	}
	err = fn(a)
	if p.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // a signal ended it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p), closing)
	defer cancel()
	return errors.Join(err, a.Close(ctx))
}

func (d *database) config(p *program) (app.Config, error) {
	env, err := d.env(p)
	return app.Config{
		DB: cmp.Or(d.DB, env["DIGEST_DB"], "digest.db"), Redis: cmp.Or(d.Redis, env["DIGEST_REDIS"]), Zone: cmp.Or(d.Zone, env["DIGEST_ZONE"]),
		Env: env, AllowPrivate: d.Private, Key: env["API_KEY"], Log: p.log,
	}, err
}

func (d *database) env(p *program) (map[string]string, error) {
	f, err := os.Open(cmp.Or(d.EnvFile, ".env"))
	if d.EnvFile == "" && errors.Is(err, fs.ErrNotExist) {
		return collector.Env(nil, p.environ), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	file, err := collector.ReadEnvFile(f)
	return collector.Env(file, p.environ), err
}
