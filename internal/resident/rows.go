package resident

import (
	"regexp"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
)

// Other programs spell keys, too: the triggers of a database do. What they spell wrongly invalidates
// nothing, so the process that reads it compares the namespaces with those of its caches.

const (
	hashedByValue = "cache: the log names a key by its value, but keys of this type are hashed, so all keys of the namespace are invalidated each time: " +
		"use string, integer or UUID keys, or give the values a tag and name it in the Row of package triggers"
	resembles = "cache: the log names a namespace that no cache of this process has, and not the one that it resembles, whose cache therefore serves old values until their TTL: " +
		"give the Row of package triggers the Namespace of the cache; after a change of version, keep a Row for both until the last process of the old one has ended"
)

// hashLen is the length of the ids of package key that are hashes.
const hashLen = 43

// named gets what an invalidation of another program names; see [invalidate.Hooks]. It returns the
// scopes that the invalidation has to cover as well.
func (t *Core) named(keys []string) (more []invalidate.Scope) {
	var lines [][]any
	var names, whole []string // namespaces, and what all keys of one begin with
	t.mu.Lock()
	for _, text := range keys {
		first, last := strings.IndexByte(text, ':'), strings.LastIndexByte(text, ':')
		name, id := text[first+1:last], text[last+1:]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if n := t.used[name]; n != nil && n.hashed && id != "" && len(id) != hashLen {
			whole = append(whole, text[:last+1])
			lines = t.missLocked(lines, name, hashedByValue, "namespace", name, "keys", spell(n.key))
		}
	}
	for _, name := range names {
		if cache := t.resemblingLocked(name, names); cache != "" {
			lines = t.missLocked(lines, name, resembles, "named", name, "cache", cache)
		}
	}
	t.mu.Unlock()
	for _, line := range lines {
		t.Log.Warn(line[0].(string), line[1:]...) //nolint:forcetypeassert // see missLocked
	}
	slices.Sort(whole)
	for _, prefix := range slices.Compact(whole) {
		tenant, rest, _ := strings.Cut(prefix, ":")
		more = append(more, invalidate.Prefix(tenant, rest))
	}
	return more
}

// missLocked adds a line about a namespace, unless there was one.
func (t *Core) missLocked(lines [][]any, namespace, text string, args ...any) [][]any {
	if _, logged := t.missed[namespace]; logged {
		return lines
	}
	t.missed[namespace] = struct{}{}
	return append(lines, append([]any{text}, args...))
}

// resemblingLocked returns the namespace of a cache here that resembles a name, or "" if a cache has that
// name. Namespaces that are named as well do not count.
func (t *Core) resemblingLocked(name string, names []string) string {
	if t.used[name] != nil {
		return ""
	}
	for other := range t.used {
		if resemble(name, other) && !slices.Contains(names, other) {
			return other
		}
	}
	return ""
}

var version = regexp.MustCompile(`:v[0-9]+$`)

// resemble reports whether one of two namespaces begins with all segments of the other, or they are
// versions of one.
func resemble(a, b string) bool {
	short, long := min(a, b), max(a, b) // a prefix sorts first
	return strings.HasPrefix(long, short+":") || version.ReplaceAllString(a, ":v") == version.ReplaceAllString(b, ":v")
}
