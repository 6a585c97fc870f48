package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// pagesPeer is the cache of responses as a peer of the fleet: a key is a path, and a load is a
// rendering.
const pagesPeer = "httpcache"

// specOf returns the peer that a process of the fleet must run.
func specOf(name string) (peers.Spec, error) {
	if name == pagesPeer {
		return peers.Spec{Name: name, Kind: peers.TwoTier, Loads: true, Open: openPages}, nil
	}
	return peers.ByName(name)
}

// pages serves the values of a peer as pages, from the tiers of that peer.
type pages struct {
	*peers.TwofoldPeer
	c *httpcache.Cache
	h http.Handler
}

func openPages(o peers.Options) peers.Peer {
	p := peers.NewTwofold(o, peers.Twofold{Log: true})
	c := setup.Must(httpcache.New(httpcache.Config{
		Tiers: p.Tiers, Preset: httpcache.Pages, Logger: slog.New(slog.DiscardHandler),
	}))
	render := func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
		if err == nil {
			_, err = o.Load(r.Context(), id)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "%d", id)
	}
	return &pages{p, c, c.Handler(http.HandlerFunc(render))}
}

// Get requests the page of a key.
func (p *pages) Get(ctx context.Context, k *peers.Key) (peers.Value, bool) {
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+strconv.FormatInt(k.ID, 10), http.NoBody))
	return peers.Small(k.ID), w.Code == http.StatusOK && w.Body.String() == strconv.FormatInt(k.ID, 10)
}

// Set fails: pages are only rendered.
func (*pages) Set(context.Context, *peers.Key, peers.Value) error {
	return errors.New("workload: a page cannot be set")
}

// Close ends the cache and its tiers.
func (p *pages) Close() {
	_ = p.c.Close(context.Background()) // the measurements are done
	p.TwofoldPeer.Close()
}
