package sqllog

import (
	"cmp"
	"strings"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// statements holds the statements of a log. $1 is the namespace in all of them.
type statements struct {
	outbox, log, meta string // names of the tables
	name, schema      string // SQLite: of the log, and of the database that has it

	unchanged sqltext.Query // the bound and the tier, if nothing is new to the caller; see unchangedText
	look      sqltext.Query // $2, $3: the caller's positions
	page      sqltext.Query // $2, $3: after these positions; $4, $5: up to these
	stage     sqltext.Query // $2: the most rows
	trim      sqltext.Query // $2: the sequence; $3: records that stay
	terms     sqltext.Query // $2: the bound in ms; $3: the remote tier, or NULL
	ends      sqltext.Query // where the sequences end, the epoch's id, and the ids of the last records
	server    sqltext.Query // the identity

	patience sqltext.Query // makes the server end a transaction that waits for its client; empty if not possible
	begin    sqltext.Query // creates the row in meta if it is missing, and locks it
	lock     sqltext.Query // locks the row in meta; empty if begin has locked it
	top      sqltext.Query // the highest position of each sequence
	add      sqltext.Query // a record: $2 sequence, $3 position, $4 prev, $5 id, $6 after, $7 payload
	epoch    sqltext.Query // $2: identity; $3: the epoch's id; $4: the position of its bumps; $5: the bound in ms; $6: 1: forget the tier

	number sqltext.Query // see writePostgres, and writeMariaDB
	remove sqltext.Query // staged rows; $2: the rows; $3: the epoch
	notes  sqltext.Query // $2: the epoch; $3, $4: where the sequences end; $5, $6: the ids there
	now    sqltext.Query // the clock
}

// textOf returns what differs between the databases, by the names that statements have in braces:
//
//	server    which server this is, and which run of it; '' on a server that takes no writes
//	place     which copy of the tables this is, without '/'; see identityOf
//	mark      '!' if the row m of meta was not written by a log here; see identityOf
//	clock     in unix microseconds
//	row       which content row o of the outbox has, if its id was used again
//	age       of row o of the outbox, in microseconds
//	pending   the condition for rows o of the outbox without a number, in addition to their namespace
//	order     of rows o
//	low       a complete stage leaves no row below it
//	least     no row before row o is left below it
//	last      where the sequences end, and the ids there
//	greatest  the function
//	text      a cast of an argument that is not compared with a column
//	touch     more to set in every write of meta
//	reset     more to set in meta when an epoch begins
//	payload   the column as a reader gets it
//
// It also returns the statements patience, begin, lock, number and remove of this database.
func textOf(c *Config) map[string]string {
	d := map[Dialect]func(*Config) map[string]string{Postgres: postgresText, SQLite: sqliteText, MariaDB: mariadbText}[c.Dialect](c)
	for guard, off := range map[safeguard.Guard][2]string{
		safeguard.RunID: {"server", "'off'"}, safeguard.Memory: {"mark", "''"}, safeguard.Place: {"place", "''"}, safeguard.Content: {"row", "'0'"},
	} {
		if safeguard.Off(guard) {
			d[off[0]] = off[1]
		}
	}
	d["identity"] = identityOf(c.Dialect, d)
	d["version"] = logwire.Version
	d["outbox"], d["log"], d["meta"] = sqltext.Qualified(c.Tables.Schema, c.Tables.Outbox), sqltext.Qualified(c.Tables.Schema, c.Tables.Log), sqltext.Qualified(c.Tables.Schema, c.Tables.Meta)
	d["last"] = strings.ReplaceAll(d["last"], "{log}", d["log"])
	return d
}

// identityOf returns the expression that [state.doubtful] compares with the identity that the epoch
// began on: mark, place, a slash, server. An identity is stored without its mark, so a marked one
// differs from every stored one.
func identityOf(dialect Dialect, d map[string]string) string {
	parts := []string{d["mark"], d["place"], "'/'", "nullif(" + d["server"] + ", '')"} // a NULL makes the whole NULL
	if dialect == MariaDB {
		return "coalesce(concat(" + strings.Join(parts, ", ") + "), '')"
	}
	return "coalesce(" + strings.Join(parts, " || ") + ", '')"
}

// markText stands before the identity of tables that were not written here.
const markText = "!"

// notedLast is for databases that write the notes together with the records.
const notedLast = "m.key_end, m.scope_end, m.key_id, m.scope_id"

func newStatements(c *Config) (s statements) {
	d := textOf(c)
	s.outbox, s.log, s.meta = d["outbox"], d["log"], d["meta"]
	s.name, s.schema = c.Tables.Meta+" "+c.Namespace, cmp.Or(c.Tables.Schema, "main")
	for to, q := range map[*sqltext.Query]string{
		&s.unchanged: unchangedText, &s.look: lookText, &s.stage: stageText, &s.trim: trimText, &s.terms: termsText, &s.ends: endsText,
		&s.page: pageText, &s.add: addText, &s.number: d["number"],
		&s.server: serverText, &s.top: topText, &s.epoch: epochText, &s.notes: notesText, &s.now: nowText,
		&s.patience: d["patience"], &s.begin: d["begin"], &s.lock: d["lock"], &s.remove: d["remove"],
	} {
		*to = sqltext.Rebind(c.Dialect.String(), sqltext.Fill(q, d))
	}
	return s
}

// unchangedText returns a row when nothing is new to a caller that knows the log up to its end. $2
// and $3 are its positions, $4 and $5 the ids there, $6 is the id of the epoch. The statement
// does not read the records, because the caller has them all.
const unchangedText = `SELECT m.bound, m.tier, {clock} FROM {meta} m
WHERE m.ns = $1 AND m.key_end = $2 AND m.scope_end = $3 AND m.key_id = $4 AND m.scope_id = $5 AND m.epoch = $6
	AND m.version = {version} AND m.identity = {identity}
	AND (SELECT 1 FROM {outbox} o WHERE o.ns = $1 AND {pending} ORDER BY {order} LIMIT 1) IS NULL`

// lookText returns everything that a Sync with nothing to do must know, as of one moment.
const lookText = `SELECT m.version, m.epoch, m.key_end, m.scope_end, m.key_id, m.scope_id, m.bound, m.tier, m.identity,
	{identity}, {clock},
	(SELECT l.id FROM {log} l WHERE l.ns = m.ns AND l.seq = 1 AND l.pos = m.key_end),
	(SELECT l.id FROM {log} l WHERE l.ns = m.ns AND l.seq = 2 AND l.pos = m.scope_end),
	(SELECT l.id FROM {log} l WHERE l.ns = m.ns AND l.seq = 1 AND l.pos = $2),
	(SELECT l.id FROM {log} l WHERE l.ns = m.ns AND l.seq = 2 AND l.pos = $3),
	{last},
	(SELECT {age} FROM {outbox} o WHERE o.ns = m.ns AND {pending} ORDER BY {order} LIMIT 1)
FROM {meta} m WHERE m.ns = $1`

// pageText reads one record more than a page of each sequence.
const pageText = `SELECT seq, pos, prev, at, id, after, {payload} FROM (
	SELECT * FROM (SELECT * FROM {log} WHERE ns = $1 AND seq = 1 AND pos > $2 AND pos <= $4 ORDER BY pos LIMIT 1001) k
	UNION ALL
	SELECT * FROM (SELECT * FROM {log} WHERE ns = $1 AND seq = 2 AND pos > $3 AND pos <= $5 ORDER BY pos LIMIT 1001) s
) r ORDER BY seq, pos`

const stageText = `SELECT o.id, o.scopes, {row}, m.epoch, {identity}, {low}, {least}
FROM {meta} m JOIN {outbox} o ON o.ns = m.ns AND {pending} WHERE m.ns = $1 ORDER BY {order} LIMIT $2`

// trimText nests two SELECTs, because MariaDB does not let a DELETE select from its own table
// directly.
const trimText = `DELETE FROM {log} WHERE ns = $1 AND seq = $2 AND pos <= (
	SELECT pos FROM (SELECT pos FROM {log} WHERE ns = $1 AND seq = $2 ORDER BY pos DESC LIMIT 1 OFFSET $3) t)`

const (
	termsText  = `UPDATE {meta} SET bound = {greatest}(bound, $2), tier = coalesce(tier, $3{text}){touch} WHERE ns = $1`
	serverText = `SELECT {identity} FROM {meta} m WHERE m.ns = $1`
	endsText   = `SELECT key_end, scope_end, epoch, key_id, scope_id FROM {meta} WHERE ns = $1`
	nowText    = `SELECT {clock} FROM {meta} WHERE ns = $1`
	topText    = `SELECT coalesce((SELECT max(pos) FROM {log} WHERE ns = $1 AND seq = 1), 0),
	coalesce((SELECT max(pos) FROM {log} WHERE ns = $1 AND seq = 2), 0)`
	addText   = `INSERT INTO {log} (ns, seq, pos, prev, at, id, after, payload) VALUES ($1, $2, $3, $4, {clock}, $5, $6, $7)`
	epochText = `UPDATE {meta} SET identity = $2, epoch = $3, key_end = $4, scope_end = $4, key_id = $3, scope_id = $3,
	bound = {greatest}(bound, $5), tier = CASE WHEN $6 = 1 THEN NULL ELSE tier END{touch}{reset} WHERE ns = $1`
)

// notesText sets the ids first, because MariaDB compares with what it has set before. The notes never go
// back.
const notesText = `UPDATE {meta} SET key_id = CASE WHEN key_end < $3 THEN $5 ELSE key_id END, key_end = {greatest}(key_end, $3),
	scope_id = CASE WHEN scope_end < $4 THEN $6 ELSE scope_id END, scope_end = {greatest}(scope_end, $4) WHERE ns = $1 AND epoch = $2`
