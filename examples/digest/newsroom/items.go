package newsroom

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// item is something that an outlet has published.
type item struct {
	number  int64 // of the outlet's, ascending in time
	guid    string
	link    string
	title   string
	body    string
	author  string
	at      time.Time
	changed time.Time // when the outlet last edited it, else at
}

// corrections are what some items say later, by language.
var corrections = map[string]string{
	"en": " Correction: an earlier version of this text gave a wrong figure.",
	"zh": "更正：本文较早版本中的一个数字有误。",
}

// items returns what an outlet lists at a time, the newest first. The day is divided
// evenly; in each part one item appears at some moment, always the same.
func (n *Newsroom) items(o *outlet, now time.Time) []item {
	every := int64(24*time.Hour/time.Second) / int64(max(o.daily, 1))
	var all []item
	for k := now.Unix() / every; len(all) < o.listed && k >= 0; k-- {
		dice := n.dice(o.slug, k)
		at := time.Unix(k*every+dice.Int64N(every), 0).UTC()
		if at.After(now) {
			continue
		}
		all = append(all, n.item(o, k, at, now, dice))
	}
	return all
}

func (n *Newsroom) item(o *outlet, k int64, at, now time.Time, dice *rand.Rand) item {
	t := n.topics[o.topic]
	it := item{number: k, guid: fmt.Sprintf("tag:%s.example,2026:%d", o.slug, k), at: at, changed: at, author: o.name}
	it.link = fmt.Sprintf("https://%s.example/%s/%d", o.slug, at.Format("2006/01/02"), k)
	it.title, it.body = t.tell(dice)
	edited := at.Add(time.Hour + time.Duration(dice.IntN(180))*time.Minute)
	if dice.IntN(12) == 0 && !edited.After(now) {
		it.body += corrections[t.lang]
		it.changed = edited
	}
	return it
}

// dice are those of one thing of an outlet, for which a number stands.
func (n *Newsroom) dice(slug string, number int64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, slug)
	return rand.New(rand.NewPCG(n.cfg.Seed^h.Sum64(), uint64(number))) //nolint:gosec // numbers are not negative, and it is no secret
}

// lastChange returns when one of the items was last published or edited.
func lastChange(items []item) time.Time {
	if len(items) == 0 {
		return time.Time{}
	}
	return slices.MaxFunc(items, func(a, b item) int { return a.changed.Compare(b.changed) }).changed
}
