package httpcache

import (
	"context"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

func (x *handling) Begin(_ context.Context, old exchange.Previous, _ bool) (leave bool, err error) {
	return old.Leave, nil
}

func (x *handling) Request(n *exchange.Run, bare bool) (r *http.Request) {
	if x.c.cfg.pages() {
		r = x.fromKey(n.Ctx)
	} else {
		r, n.Own = x.shown(n.Ctx, bare)
		n.Parts = x.t.Saw.Any(rules.SawRange | rules.SawIfMatch | rules.SawIfNoneMatch)
	}
	return r
}

func (x *handling) Serve(n *exchange.Run, r *http.Request) error {
	x.next.ServeHTTP(&n.Rec, r)
	return nil
}

// Keyed reports whether a header needs no variant: its value is in the key, or the handler sees it of no
// client.
func (x *handling) Keyed(name string) bool {
	return x.declares(name) || !x.c.cfg.pages() && x.unseen(name)
}

func (x *handling) declares(header string) bool {
	cfg := &x.c.cfg
	if len(cfg.Encodings) > 0 && header == "Accept-Encoding" {
		return true // no handler sees it
	}
	return slices.ContainsFunc(cfg.Vary, func(r VaryRule) bool { return r.Header == header && (r.On == nil || r.On(x.t.Path)) })
}

// Sees returns the lines of a header that is in no key.
func (x *handling) Sees(name string) []string {
	if x.c.cfg.pages() || x.unseen(name) {
		return nil
	}
	return x.Header[name]
}

// unseen reports whether the handler sees a header of no client: it is dropped, or it is a credential.
func (x *handling) unseen(name string) bool {
	return x.drops(name) || slices.Contains(x.c.cfg.Credentials, name)
}
