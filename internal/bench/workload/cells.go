package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// The cells of the remote tier, in Redis and in databases.

const (
	inRedis    = "Redis"
	inSQLite   = "SQLite"
	inPostgres = "PostgreSQL, unlogged"

	cellKeys = 1000
)

var (
	cellSizes = []int{200, 4 << 10, 64<<10 - 1024} // the last size just fits a cell of PostgreSQL
	cellTiers = []string{inRedis, inSQLite, inPostgres}
)

func sizeName(size int) string {
	if size < 1<<10 {
		return strconv.Itoa(size) + " B"
	}
	return strconv.Itoa((size+1023)>>10) + " KiB"
}

// cells measures the tiers, one operation at a time.
func (e *Env) cells(d *database) {
	file := setup.Must(dbtest.OpenSQLite(filepath.Join(e.t.TempDir(), "cells.db")))
	e.t.Closing(file.Close)
	embedded := sqltier.New(file.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: file.Reader})
	served := sqltier.New(d.db, sqltier.Config{Dialect: sqltier.Postgres})
	setup.Check(errors.Join(embedded.Install(e.t.Context()), served.Install(e.t.Context())))
	tiers := map[string]tier.Remote{
		inRedis:  redistier.New(e.client(), redistier.Config{Prefix: redistest.Prefix()}),
		inSQLite: embedded, inPostgres: served,
	}
	for _, size := range cellSizes {
		var gets, fills []contender
		for _, name := range cellTiers {
			c := &cellBench{tier: tiers[name], payload: bytes.Repeat([]byte("cell"), size/4)}
			fills = append(fills, contender{name: name, op: c.fill})
			gets = append(gets, contender{name: name, op: c.get, before: func() { setup.Check(c.fill(e.t.Context(), 0)) }})
		}
		e.compare(onebyone("get, "+sizeName(size), getTable), gets)
		e.compare(onebyone("claim and fill, "+sizeName(size), fillTable), fills)
	}
}

var (
	getTable  = report.Comparison{Title: "I: get a cell, 1 goroutine", Reference: inRedis, Unit: p50, More: []string{p99}}
	fillTable = report.Comparison{Title: "I: claim and fill a cell that is there, 1 goroutine", Reference: inRedis, Unit: p50, More: []string{p99}}
)

// cellBench is one tier and one size of values.
type cellBench struct {
	tier    tier.Remote
	payload []byte
	n       int
}

func (c *cellBench) key() string {
	c.n++
	return "default:bench:v1:" + strconv.Itoa(len(c.payload)) + ":" + strconv.Itoa(c.n%cellKeys)
}

// fill stores a value under a key, as a load does.
func (c *cellBench) fill(ctx context.Context, _ int) error {
	key, nonce := c.key(), tier.NewNonce()
	got, err := tiercall.Claim(ctx, c.tier, key, tier.Claim{Nonce: nonce, Lease: time.Minute})
	if err == nil && !got.Granted {
		_, seen := tier.Head(got.Cell)
		got, err = tiercall.Claim(ctx, c.tier, key, tier.Claim{Seen: seen, Nonce: nonce, Lease: time.Minute})
	}
	if err == nil && !got.Granted {
		err = errors.New("the claim was refused")
	}
	if err != nil {
		return err
	}
	cell := tier.Cell{Nonce: nonce, Codec: "raw", Payload: c.payload}
	frame, err := cell.Encode()
	if err != nil {
		return err
	}
	ok, err := tiercall.Fill(ctx, c.tier, key, tier.Fill{Nonce: nonce, Cell: frame, TTL: time.Hour})
	if err == nil && !ok {
		err = errors.New("the fill was refused")
	}
	return err
}

// get reads the value that was filled last.
func (c *cellBench) get(ctx context.Context, _ int) error {
	key := "default:bench:v1:" + strconv.Itoa(len(c.payload)) + ":" + strconv.Itoa(c.n%cellKeys)
	frame, err := tiercall.Get(ctx, c.tier, key)
	if err == nil && len(frame) < len(c.payload) {
		return fmt.Errorf("a frame of %d bytes, want over %d", len(frame), len(c.payload))
	}
	return err
}
