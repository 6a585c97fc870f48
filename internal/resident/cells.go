package resident

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
)

// removeCells removes cells from the remote tier for the follower.
func (t *Core) removeCells(ctx context.Context, keys []string) error {
	return t.remove(ctx, t.defaults().RemoteTimeout, keys)
}

func (t *Core) remove(ctx context.Context, timeout time.Duration, keys []string) error {
	if t.remote == nil {
		return nil
	}
	return t.farOf(keys).Remove(ctx, timeout, keys)
}

// farOf returns the remote tier for the removal of keys. It counts the calls for their namespace and
// tenant, if that is the same for all of them and a cache of this process has used it.
func (t *Core) farOf(keys []string) *remote.Tier {
	if len(keys) == 0 {
		return t.remote
	}
	tenant, rest, _ := strings.Cut(keys[0], ":")
	t.mu.Lock()
	defer t.mu.Unlock()
	for namespace := range t.used { // none is the first part of another
		id, ok := strings.CutPrefix(rest, namespace)
		if !ok || !strings.HasPrefix(id, ":") {
			continue
		}
		c := cmp.Or(t.counts[key.Space{Tenant: tenant, Namespace: namespace}], t.counts[key.Space{Tenant: otherTenant, Namespace: namespace}])
		prefix := keys[0][:len(keys[0])-len(id)+1]
		if c == nil || slices.ContainsFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) }) {
			break
		}
		return c.Far
	}
	return t.remote
}
