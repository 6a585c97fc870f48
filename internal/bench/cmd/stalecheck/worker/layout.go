package worker

import (
	"fmt"
	"math/rand/v2"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Keys are in groups of four, which share a prefix. A tag spans groups: it is on every so-many-th
// key.
const groupSize = 4

// namespace is the namespace of all keys.
const namespace = "n"

var space = key.Space{Tenant: cache.DefaultTenant, Namespace: namespace}

// Name returns the id of key i.
func Name(i int) string { return fmt.Sprintf("g%d.%d", i/groupSize, i%groupSize) }

// FullName returns the full key of key i, as rows of the outbox name it.
func FullName(i int) string { return cache.DefaultTenant + ":" + namespace + ":" + Name(i) }

// number inverts Name.
func number(name string) (i int, ok bool) {
	var g, n int
	if _, err := fmt.Sscanf(name, "g%d.%d", &g, &n); err != nil {
		return 0, false
	}
	return g*groupSize + n, true
}

// layout is the number of keys.
type layout int

func (l layout) groups() int { return (int(l) + groupSize - 1) / groupSize }

func (l layout) tag(i int) string { return fmt.Sprintf("t%d", i%l.groups()) }

// target is the scopes of an invalidation and the keys that they cover.
type target struct {
	kind   history.Kind
	scopes []invalidate.Scope
	keys   []int
}

// pick draws one target: half of them keys, a quarter prefixes, a quarter tags.
func (l layout) pick(rng *rand.Rand, cfg *Config) target {
	draw := rng.IntN(4)
	if cfg.KeysOnly {
		draw = 0
	}
	switch n := rng.IntN(l.groups()); draw {
	case 2:
		return l.prefix(n)
	case 3:
		return l.tagged(n)
	}
	return l.single(rng.IntN(int(l)))
}

func (l layout) single(i int) target {
	return target{history.Key, []invalidate.Scope{invalidate.Key(setup.Must(space.Key(Name(i))))}, []int{i}}
}

func (l layout) prefix(g int) target {
	t := target{kind: history.Prefix, scopes: []invalidate.Scope{
		invalidate.Prefix(space.Tenant, fmt.Sprintf("%s:g%d.", space.Namespace, g)),
	}}
	for i := g * groupSize; i < min((g+1)*groupSize, int(l)); i++ {
		t.keys = append(t.keys, i)
	}
	return t
}

func (l layout) tagged(n int) target {
	t := target{kind: history.Tag, scopes: []invalidate.Scope{
		invalidate.Tag(cache.DefaultTenant, fmt.Sprintf("t%d", n)),
	}}
	for i := n; i < int(l); i += l.groups() {
		t.keys = append(t.keys, i)
	}
	return t
}
