package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// enough is the most steps until a missing safeguard must be noticed. Dropped keys are noticed within 600 steps
// in 25 of 40 runs, the others sooner: less than one run in 10^8 takes more.
const enough = 12_000

// fresh is how many steps are made on one database. In the end what is read most, such as /page/1, is deleted
// for ever, and nothing shows that its changes are not heard of.
const fresh = 600

// control removes a safeguard.
type control struct {
	link linkOf[twins] // may be nil
	drop string        // prefix of the scopes that transactions do not append; "": none
}

// controls remove safeguards. The twins prove a safeguard only if they notice its absence.
var controls = map[string]control{
	"nothing is heard":      {link: skips[twins]("objects", "absences", "responses")},
	"objects are skipped":   {link: skips[twins]("objects", "absences")},
	"responses are skipped": {link: skips[twins]("responses")},
	"responses come first": {link: func(w *twins, layer string, own second) invalidate.Log {
		return reversed(layer, own, func(ctx context.Context) error {
			s := w.live.Load()
			if s == nil {
				return nil
			}
			err := s.tiers.Ready(ctx)
			w.visit()
			return err
		})
	}},
	"posts:en is dropped": {drop: "posts"},
}

// entities are the other kinds of entities that events name.
var entities = []string{
	"feed", "tags", "months", "post:", "slug:", "page:", "page-slug:", "key:", "settings", "navigation", "sitemap",
}

func (w *twins) visit() {
	w.visits.Lock()
	defer w.visits.Unlock()
	s := w.live.Load()
	for _, target := range hot {
		if s != nil {
			w.ask(s, w.plainly(target))
		}
	}
}

// dropping is a trigger that drops appended scopes with a prefix.
const dropping = `CREATE TRIGGER dropping AFTER INSERT ON twofold_outbox BEGIN
	UPDATE twofold_outbox SET scopes = (SELECT json_group_array(json(value)) FROM json_each(NEW.scopes)
		WHERE json_extract(value, '$[2]') NOT LIKE '%s%%') WHERE id = NEW.id;
	DELETE FROM twofold_outbox WHERE scopes = '[]';
END`

// sabotage removes a safeguard from a database.
func (c control) sabotage(t *testing.T, path string) {
	t.Helper()
	if c.drop == "" {
		return
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), fmt.Sprintf(dropping, c.drop))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestTwinsNotice(t *testing.T) {
	all, kinds := maps.Clone(controls), entities
	if raceEnabled { // under the race detector, one is enough, a different one each time
		kinds = kinds[rand.IntN(len(kinds)):][:1]
	}
	for _, kind := range kinds {
		all[kind+" is dropped"] = control{drop: kind}
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			steps, noticed := 0, false
			for ; steps < enough && !noticed; seed++ {
				n := search(t, seed, fresh, c)
				steps, noticed = steps+n, n < fresh
			}
			if !noticed {
				t.Errorf("no difference in %d steps until seed %d", steps, seed)
			} else {
				t.Logf("noticed after %d steps", steps)
			}
		})
	}
}

// search makes at most n random steps until twins differ, and returns their number.
func search(t *testing.T, seed uint64, n int, c control) int {
	t.Helper()
	w := newTwins(t, c)
	defer w.close()
	roll := rand.New(rand.NewPCG(seed, 0)).IntN
	for step := range n {
		if roll(3) == 0 {
			w.write(roll)
		}
		for range 2 {
			if w.differ(w.cached, w.request(roll)) != "" {
				return step
			}
		}
	}
	return n
}
