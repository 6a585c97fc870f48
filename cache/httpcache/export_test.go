package httpcache

import (
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/codec"
)

// Internals that fuzz tests use.
var (
	Form   = address.Form
	IsForm = address.IsForm
	Normal = address.Normal
)

// Learned is Cache.learned for the path "/".
func (c *Cache) Learned(lines []string) ([]string, bool) {
	return rules.Learned(http.Header{"Vary": lines}, false, (&handling{c: c, t: address.Target{Path: "/", Escaped: "/"}}).Keyed)
}

// Send answers r with an encoded page from a remote tier, if the page can be sent.
func (c *Cache) Send(w http.ResponseWriter, r *http.Request, stored []byte) {
	var p *page.Page
	if err := codec.CBOR.Unmarshal(stored, &p); err != nil || !p.Sound() {
		return
	}
	x := c.handling(nil, w, r, address.Target{Key: "k"})
	line, age := x.Account(cache.Result[*page.Page]{Value: p, Source: cache.Remote}, 0)
	_ = p.Selects(r.Header, c.k.Hashed)
	_ = address.VariantOf(x.ID, p.Names(), r.Header)
	_, _ = p.Renewed(&c.k.Rules, r.Header.Clone(), time.Now(), time.Now())
	c.answer(w, r, p, line, age)
}

// Encoded returns a page as a remote tier stores it.
func Encoded(status int, h http.Header, body []byte) []byte {
	p := page.New(status, h, body, true, true)
	p.Vary = page.Choices([]string{"Accept"}, h.Values, false)
	b, err := codec.CBOR.Marshal(p)
	if err != nil {
		panic(err)
	}
	return b
}

// ForgetRefusals lets the cache try all keys again.
func (c *Cache) ForgetRefusals() { c.k.Memory = &exchange.Memory{Seed: c.k.Memory.Seed} }

// MemorySlots is how many keys can be remembered.
const MemorySlots = exchange.MemorySlots

// Held is how many bytes of responses that are being recorded are in memory.
func (c *Cache) Held() int64 { return c.k.Room.Bytes() }

// Held is how many bytes of bodies in transit are in memory.
func (t *Transport) Held() int64 { return t.k.Room.Bytes() }

// MaxHeld is the limit of Held.
func MaxHeld(maxBody int) int64 { return record.MaxHeld(maxBody) }
