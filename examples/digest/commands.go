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
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/internal/call"
)

type importCmd struct {
	database
	File string `arg:"" type:"existingfile" help:"SQL statements that add sources, packs and users, such as seed.sql."`
}

// Run runs the statements of the file.
func (c *importCmd) Run(p *program) error {
	statements, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	return c.with(p, nil, func(a *app.App) error {
		keys, err := a.Store.Import(p, string(statements))
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		for _, slug := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprintf(p.out, "key of %s: %s\n", slug, keys[slug])
		}
		a.Collector.Tell(p)
		return nil
	})
}

type serveCmd struct {
	database
	Addr     string        `default:"127.0.0.1:8080" help:"The address to listen on (${default})."`
	BaseURL  string        `name:"base-url" help:"The beginning of links in feeds (default: http:// and the address)." placeholder:"URL"`
	Collect  bool          `default:"true" negatable:"" help:"Fetch due sources (${default})."`
	Generate []digest.Kind `default:"4h,daily" enum:"4h,daily,weekly,monthly,none" help:"Generate these types for all users when a period closes (${default}): ${enum}."`
}

// Validate checks the flags that package kong cannot check by itself.
func (c *serveCmd) Validate() error {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.BaseURL != "" && !call.IsBase(c.BaseURL) {
		return fmt.Errorf("--base-url: %d bytes, want a scheme, http or https, and a host", len(c.BaseURL))
	}
	return nil
}

// Run serves until p ends.
func (c *serveCmd) Run(p *program) error {
	var listen net.ListenConfig
	l, err := listen.Listen(p, "tcp", c.Addr)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server has closed it, unless it did not start
	var key string
	own := func(cfg *app.Config) {
		if cfg.Key == "" {
			key = rand.Text()
			cfg.Key = key
		}
		cfg.BaseURL = cmp.Or(c.BaseURL, call.URL(l))
	}
	return c.with(p, own, func(a *app.App) error {
		fmt.Fprintf(p.out, "serving at %s/\n", call.URL(l))
		if key != "" {
			fmt.Fprintf(p.out, "the operator's key until the program ends (set API_KEY to choose one): %s\n", key)
		}
		kinds := slices.DeleteFunc(c.Generate, func(k digest.Kind) bool { return k == "none" })
		return a.Serve(p, p.kill, app.Serving{Listener: l, Collect: c.Collect, Generate: kinds})
	})
}

type collectCmd struct {
	database
	Loop   bool  `xor:"what" help:"Continue until the program is stopped."`
	Source int64 `xor:"what" help:"Fetch only this source, even if it is not due." placeholder:"ID"`
}

// Run fetches sources.
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
	Type digest.Kind `default:"daily" enum:"4h,daily,weekly,monthly" help:"4h, daily, weekly or monthly (${default})."`
	User int64       `help:"Only this user; prints the digest (default: all users)." placeholder:"ID"`
}

// Run generates digests.
func (c *generateCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		if c.User != 0 {
			res, err := a.Digests.Generate(p, digest.Request{UserID: c.User, Kind: c.Type})
			if err != nil {
				return err
			}
			fmt.Fprintf(p.err, "%s, from %s: %s to %s\n", res.State, cmp.Or(res.Origin, "nowhere"),
				res.Window.Start.Format(time.RFC3339), res.Window.End.Format(time.RFC3339))
			fmt.Fprintln(p.out, res.Row.Content)
			return nil
		}
		report, err := a.GenerateAll(p, c.Type)
		return errors.Join(err, printJSON(p, report), report.Err())
	})
}

type verifyCmd struct {
	database
	Fix bool `help:"Correct the wrong hashes."`
}

// Run verifies the stored hashes.
func (c *verifyCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		found, err := a.Store.Verify(p, c.Fix)
		if err != nil {
			return err
		}
		for _, d := range found {
			fmt.Fprintf(p.out, "user %d: stored %s, want %s\n", d.UserID, cmp.Or(d.Kept, "nothing"), d.Want)
		}
		if c.Fix {
			_, err = fmt.Fprintf(p.out, "%d users corrected\n", len(found))
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%d users: stored hashes do not match the subscriptions", len(found))
		}
		_, err = fmt.Fprintln(p.out, "all stored hashes match the subscriptions")
		return err
	})
}

func printJSON(p *program, v any) error {
	out := json.NewEncoder(p.out)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

const closing = 10 * time.Second

// database has common flags. A flag wins over the environment, which wins over the .env file.
type database struct {
	DB      string `name:"db" help:"The database file, created if it does not exist (DIGEST_DB; default: digest.db)." placeholder:"FILE"`
	EnvFile string `name:"env-file" help:"A file of settings that the environment lacks (default: .env, if it exists)." placeholder:"FILE"`
	Redis   string `help:"URL of a Redis that stores the cells that processes share, instead of the file; the same for all processes (DIGEST_REDIS)." placeholder:"URL"`
	Zone    string `help:"The time zone of the periods (DIGEST_ZONE; default: the database's, or Asia/Singapore for a new one)." placeholder:"ZONE"`
	Private bool   `name:"allow-private" help:"Fetch from private addresses too."`
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
		return collector.ReadEnv(nil, p.environ)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return collector.ReadEnv(f, p.environ)
}
