package index

import "github.com/twofold-go/twofold/cache"

// EntryOf returns the entry of a key in full that reads of this process are answered with
// now. It reports false for a key that is not in the local tier, and for one whose entry may
// not be served any more.
func (x *Index) EntryOf(key string) (e cache.Entry, ok bool) {
	for _, found := range x.taggedAs(key) {
		if found.Alive() {
			return found.Entry, true
		}
	}
	return nil, false
}
