package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/manage"
	"github.com/twofold-go/twofold/examples/digest/store"
)

type sourceCmd struct {
	database
	Do     string  `arg:"" enum:"list,add,edit,delete,restore" help:"list (deleted ones too), add, edit, delete or restore."`
	What   string  `arg:"" optional:"" help:"The name of a source to add, or the ID of an existing one."`
	Name   *string `help:"Its new name."`
	Type   *string `help:"Its type, such as rss or hackernews."`
	URL    string  `name:"url" xor:"config" help:"Its address: short for a config with only a url." placeholder:"URL"`
	Config string  `xor:"config" help:"Its config, as a JSON object." placeholder:"JSON"`
}

// Run lists or changes sources, and prints them.
func (c *sourceCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		if c.Do == "list" {
			all, err := a.Store.AllSources(p)
			return errors.Join(err, printJSON(p, all))
		}
		s, err := c.one(p, a.Manage)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		return printJSON(p, s)
	})
}

func (c *sourceCmd) one(p *program, m *manage.Manager) (s store.Source, err error) {
	e := store.SourceEdit{Name: c.Name, Type: c.Type, Config: json.RawMessage(c.Config)}
	if c.URL != "" {
		if e.Config, err = json.Marshal(map[string]string{"url": c.URL}); err != nil {
			return s, err
		}
	}
	if c.Do == "add" {
		e.Name = &c.What
		return m.AddSource(p, manage.NewSource{SourceEdit: e})
	}
	id, err := idOf(c.What)
	switch {
	case err != nil:
		return s, err
	case c.Do == "delete":
		return m.DeleteSource(p, id)
	case c.Do == "restore":
		return m.RestoreSource(p, id)
	}
	return m.EditSource(p, id, e)
}

func idOf(what string) (int64, error) {
	id, err := strconv.ParseInt(what, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("ID %.20q, want a positive number: see 'list'", what)
	}
	return id, nil
}

type userCmd struct {
	database
	Do      string  `arg:"" enum:"list,edit,remove" help:"list, edit or remove (with subscriptions, digests and key)."`
	ID      string  `arg:"" optional:"" help:"The ID of the user."`
	Name    *string `help:"The new name."`
	Email   *string `help:"The new email."`
	Slug    *string `help:"The new slug: the feed moves to /feed/SLUG."`
	Options string  `help:"Language and style of the user's digests, as a JSON object." placeholder:"JSON"`
}

// Run lists or changes users, and prints them.
func (c *userCmd) Run(p *program) error {
	return c.with(p, nil, func(a *app.App) error {
		if c.Do == "list" {
			all, err := a.Store.Users(p, 0, -1)
			return errors.Join(err, printJSON(p, all))
		}
		id, err := idOf(c.ID)
		if err != nil {
			return fmt.Errorf("user: %w", err)
		}
		if c.Do == "edit" {
			e := store.UserEdit{Name: c.Name, Email: c.Email, Slug: c.Slug, Options: json.RawMessage(c.Options)}
			u, err := a.Manage.EditUser(p, id, e)
			if err != nil {
				return fmt.Errorf("user: %w", err)
			}
			return printJSON(p, u)
		}
		if err := a.Manage.RemoveUser(p, id); err != nil {
			return fmt.Errorf("user %d: %w", id, err)
		}
		fmt.Fprintf(p.out, "user %d removed\n", id)
		return nil
	})
}

type zoneCmd struct {
	file
	To string `arg:"" help:"The new zone, such as Europe/Paris." placeholder:"ZONE"`
}

// Run changes the zone.
func (c *zoneCmd) Run(p *program) (err error) {
	cfg, err := (&database{file: c.file}).config(p)
	if err != nil {
		return err
	}
	s, err := store.Open(p, cfg.DB, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	before, err := digest.SetZone(p, s, c.To)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "periods now use %s instead of %q; restart the program's other processes\n", c.To, before)
	return nil
}
