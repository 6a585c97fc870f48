package cache

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// A value's tags are kept as hashes: that is what fences compare and cells
// carry. Their names are kept beside them only when there is a registry to tell
// them to. A value that another process loaded has no names; its tags are
// registered by their hashes.

// setTags gives an item its tags: those it has, its own, the call's and the
// recorded ones. One too many is kept, to be noticed by admits. With the
// recorded tags comes the age of the oldest part.
func (j *job[K, V]) setTags(it *item[K, V], own []string, f *facts) {
	add := func(hash uint64, name string) {
		if len(it.tags) > tier.MaxTags || slices.Contains(it.tags, hash) {
			return
		}
		if j.t.cfg.Registry != nil {
			it.own().names = append(slices.Clip(it.entities()), name)
		}
		it.own().tags = append(slices.Clip(it.tags), hash)
	}
	for _, names := range [][]string{own, j.o.tags} {
		for _, n := range names {
			if invalidate.Tag(j.v.space.Tenant, n).Validate() != nil {
				f.badTag = true
				continue
			}
			add(invalidate.TagHash(j.v.space.Tenant, n), j.t.entity(j.v.space.Tenant, n))
		}
	}
	for i, h := range f.tags {
		add(h, entityAt(f.names, f.tags, i))
	}
	if older := it.loadedAt - f.vouched; older > 0 {
		it.own().older = older
	}
}

// entities returns the names of an item's tags.
func (d *rare) entities() []string {
	if len(d.names) == len(d.tags) {
		return d.names
	}
	names := make([]string, len(d.tags))
	for i := range d.tags {
		names[i] = entityAt(d.names, d.tags, i)
	}
	return names
}

// entityAt returns the name of tags[i], or what stands for it.
func entityAt(names []string, tags []uint64, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return invalidate.HashEntity(tags[i])
}

// register tells the registry of an item that is about to become visible. An
// item that finds no room there must not: nobody would find it again.
func (j *job[K, V]) register(it *item[K, V]) bool {
	r := j.t.cfg.Registry
	if r == nil {
		return true
	}
	it.own().text = j.text
	token, err := r.Register(j.text, it.entities()...)
	if err != nil {
		j.v.counts.inc(fillUnregistered)
		return false
	}
	it.token = token
	return true
}

// unregister is called once the item is gone, for whatever reason.
func (t *Tiers) unregister(n named) {
	if r := t.cfg.Registry; r != nil {
		r.Unregister(n.registered())
	}
}

// registrations returns the token of the newest entry that an invalidation which
// begins now reaches.
func (t *Tiers) registrations() invalidate.Token {
	if r := t.cfg.Registry; r != nil {
		return r.Newest()
	}
	return 0
}

// forget ends the registrations of what was invalidated: it is not served any
// more, though it goes on taking memory until it is replaced or pushed out.
func (t *Tiers) forget(scopes []invalidate.Scope, upTo invalidate.Token) {
	r := t.cfg.Registry
	if r == nil {
		return
	}
	for _, s := range scopes {
		r.Forget(s, upTo)
	}
}
