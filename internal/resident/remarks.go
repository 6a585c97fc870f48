package resident

import (
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Remarks are the log lines about one namespace. Each is written once.
type Remarks struct {
	Volatile, Stale                   sync.Once // of audits
	badTag, tooLarge, noRows, unasked sync.Once
	untagged, otherLog                sync.Once
}

// warn writes a line about the namespace, once.
func (s *Store) warn(once *sync.Once, text string, args ...any) {
	once.Do(func() { s.Core.Log.Warn("cache: "+text, append([]any{"namespace", s.namespace}, args...)...) })
}

// WarnOfBadTag says why a value with a tag that is not valid is not stored.
func (s *Store) WarnOfBadTag() {
	s.warn(&s.Remarks.badTag, "values with a tag that is empty, too long or not valid are returned and never stored, so each read loads: leave out empty tags, and shorten long ones",
		"most_bytes", invalidate.MaxTagLen)
}

// WarnOfSize says why a value above MaxValueBytes is not stored.
func (s *Store) WarnOfSize(most int) {
	s.warn(&s.Remarks.tooLarge, "a loaded value is longer than MaxValueBytes: such values are returned and never stored, so each read loads; raise MaxValueBytes in the policy, or store less",
		"max_value_bytes", most)
}

// WarnOfNoRows warns if the error of a loader is the one by which database/sql and pgx say that there is no row. It is known
// by its text, because the library imports neither.
func (s *Store) WarnOfNoRows(err error) {
	if strings.HasSuffix(err.Error(), "no rows in result set") {
		s.warn(&s.Remarks.noRows, "a loader returned the error for no rows as a failure, so absence is not remembered and each read asks the source: wrap the loader in cache.NotFoundIs(load, sql.ErrNoRows)")
	}
}

// WarnOfUnasked says that LoadMany returned keys that nobody asked for.
func (s *Store) WarnOfUnasked() {
	s.warn(&s.Remarks.unasked, "LoadMany returned keys that it was not asked for: they are dropped, and a key that it was asked for and did not return counts as absent; return the keys of the argument as they are")
}

// tagged reports whether an entry of a cell has all tags that Config.Tags gives its value here. Without one of them an
// invalidation of that tag would not reach the entry.
func (j *Job) tagged(it *Entry) bool {
	if !j.View.Tagged || it.Err != nil {
		return true
	}
	for _, name := range j.View.Kind.Tags(it) {
		tag := invalidate.Tag(j.View.Space.Tenant, name)
		if !it.HasTag(tag.Hash()) && tag.Validate() == nil {
			j.View.warn(&j.View.Remarks.untagged, "values in the remote tier lack tags that Config.Tags gives them here: they count as misses; a process with other Tags writes them, or Tags does not depend on key and value alone")
			return false
		}
	}
	return true
}

// epochSeen is an epoch of the log, and when a cell of another one first came.
type epochSeen struct {
	id uint64
	at int64 // Unix milliseconds
}

// otherLog warns of a cell whose writer follows another log: its load began long after this process was in
// another epoch. In one fleet all processes are in one epoch within the bound.
func (j *Job) otherLog(c *tier.Cell) {
	t := j.Core
	now := t.Fences.Cursor().Epoch
	if c.Epoch == 0 || now == 0 || c.Epoch == now {
		return
	}
	if seen := t.epoch.Load(); seen == nil || seen.id != now {
		t.epoch.Store(&epochSeen{now, time.Now().UnixMilli()})
	} else if c.LoadedAt > seen.at+(time.Duration(t.Bound)+time.Minute).Milliseconds() {
		j.View.warn(&j.View.Remarks.otherLog, "values in the remote tier come from processes that follow another log: they count as misses, and invalidations do not reach these processes; give all processes that share values one log")
	}
}
