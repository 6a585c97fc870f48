package index

import "github.com/twofold-go/twofold/cache"

// EntryOf returns the entry that answers reads of a full key in this process now. It reports
// false if the key is not in the local tier, or if its entry must not be served any more.
func (x *Index) EntryOf(key string) (e cache.Entry, ok bool) {
	for _, found := range x.taggedAs(key) {
		if found.Alive() {
			return found.Entry, true
		}
	}
	return nil, false
}
