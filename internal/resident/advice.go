package resident

import (
	"slices"

	"github.com/twofold-go/twofold/policy"
)

// Warnings about settings that are allowed but probably a mistake. Each is logged once.

// UnusedPolicies returns the namespaces that only the table of overrides names, sorted.
func (t *Core) UnusedPolicies() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unusedLocked(*t.policies.Load())
}

func (t *Core) unusedLocked(table policy.Table) (names []string) {
	for i := range table {
		name := table[i].Namespace
		if _, used := t.used[name]; name != "" && !used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// warnOfUnused logs each namespace of a table that no cache has, once. Before the first cache is
// made, no namespace is in use, and it logs nothing.
func (t *Core) warnOfUnused(table policy.Table) {
	for _, name := range t.newlyUnused(table) {
		t.Log.Warn("cache: a policy does nothing, because no cache of this process has its namespace: give the Namespace of the Config, such as users:v1",
			"namespace", name)
	}
}

func (t *Core) newlyUnused(table policy.Table) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.used) == 0 {
		return nil
	}
	return slices.DeleteFunc(t.unusedLocked(table), func(name string) bool {
		_, logged := t.unused[name]
		t.unused[name] = struct{}{}
		return logged
	})
}

// warnOfNoLog logs once that other processes will not learn of invalidations. It logs nothing if
// LocalTTL bounds what they serve, if the namespace keeps nothing that they share, or if the cache
// is off.
func (v *View) warnOfNoLog() {
	t, p := v.Core, v.Policy()
	if t.Follower != nil || v.Far == nil || p.Off || p.LocalTTL > 0 {
		return
	}
	t.noLog.Do(func() {
		t.Log.Warn("cache: there is a remote tier and no log: after a Delete or Set, other processes serve what their local tiers hold until its TTL ends; "+
			"set TiersConfig.Log, or LocalTTL in the policy to bound that time", "namespace", v.namespace, "ttl", p.TTL)
	})
}
