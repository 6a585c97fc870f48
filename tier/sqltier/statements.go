package sqltier

import "strings"

// The statements, as indexes of Tier.sql.
const (
	get = iota
	read
	lay
	put
	patch
	drop
	fill
	discard
	unlink
	expire
	evict
	measure
	ping
	getMany

	claimMany // from here on only for PostgreSQL
	fillMany
	unlinkMany
	statementCount
)

// Each change is one statement that compares and swaps, so none needs a transaction, and on
// PostgreSQL none takes a second round trip.
//
// $1 is the key. {now} is the tier's clock in unix ms. For many keys, [pack] gives the
// positions.
var texts = [statementCount]string{
	get:  `SELECT cell FROM {t} WHERE key = $1 AND until > {now}`,
	read: `SELECT cell, {now} FROM {t} WHERE key = $1 AND until > {now}`,

	// lay stores a frame under an empty key.
	lay: `INSERT INTO {t} AS c (key, cell, until) VALUES ($1, $2, {now} + $3)
		ON CONFLICT (key) DO UPDATE SET cell = excluded.cell, until = excluded.until WHERE c.until <= {now}`,

	// put, patch and drop make a tier.Change to the current frame.
	put:   `UPDATE {t} SET cell = $2, until = {now} + $3 WHERE key = $1 AND cell = $4 AND until > {now}`,
	patch: `UPDATE {t} SET cell = $2 WHERE key = $1 AND cell = $3 AND until > {now}`,
	drop:  `DELETE FROM {t} WHERE key = $1 AND cell = $2 AND until > {now}`,

	// fill is tier.Fill.Over: bytes 2 to 9 of a frame, counted from 1, are its nonce.
	fill:    `UPDATE {t} SET cell = $2, until = {now} + $3 WHERE key = $1 AND substr(cell, 2, 8) = $4 AND until > {now}`,
	discard: `DELETE FROM {t} WHERE key = $1 AND substr(cell, 2, 8) = $2 AND until > {now}`,

	unlink: `DELETE FROM {t} WHERE key = $1`,

	expire: `DELETE FROM {t} WHERE key IN (SELECT key FROM {t} WHERE until <= {begun} ORDER BY until LIMIT $1 {skip})`,
	// Leases are short frames. They stay.
	// The statement measures the table in the same snapshot in which it picks the rows, and
	// locks them afterwards. Therefore rows that another process removes meanwhile are not replaced
	// by more rows. It removes as many rows as the excess needs at the average size, at most $1.
	evict: `DELETE FROM {t} WHERE key IN (SELECT key FROM {t} WHERE key IN (SELECT key FROM {t} WHERE length(cell) > 9 ORDER BY until LIMIT
		(SELECT CASE WHEN m.bytes > CAST($2 AS bigint)
			THEN {least}(CAST($1 AS bigint), 1 + m.cells * (m.bytes - CAST($2 AS bigint)) / m.bytes) ELSE 0 END
		FROM (SELECT count(*) AS cells, coalesce(sum(length(key) + length(cell)), 0) AS bytes FROM {t}) AS m)) {skip})`,
	measure: `SELECT count(*), coalesce(sum(length(key) + length(cell)), 0) FROM {t}`,
	ping:    `SELECT count(*) FROM (SELECT key, cell, until FROM {t} LIMIT 1) AS c`,

	getMany: `SELECT c.key, c.cell FROM {found}`,

	// Rows are locked in the order of their keys, so two batches cannot wait for each other.
	claimMany: `INSERT INTO {t} AS c (key, cell, until)
		SELECT substr($1::bytea, k.at, k.len), substr($1::bytea, k.cat, k.clen), {now} + k.ttl FROM {cells} ORDER BY k.n
		ON CONFLICT (key) DO UPDATE SET cell = excluded.cell, until = excluded.until WHERE c.until <= {now} RETURNING key`,
	fillMany: `UPDATE {t} AS c SET cell = substr($1::bytea, l.cat, l.clen), until = {now} + l.ttl
		FROM (SELECT c.key, k.cat, k.clen, k.ttl FROM {cells} JOIN {t} AS c ON c.key = substr($1::bytea, k.at, k.len)
			WHERE substr(c.cell, 2, 8) = substr($1::bytea, k.cat - 8, 8) AND c.until > {now}
			ORDER BY c.key FOR UPDATE OF c) AS l
		WHERE c.key = l.key RETURNING c.key`,
	unlinkMany: `DELETE FROM {t} WHERE key IN (SELECT c.key FROM {keys} JOIN {t} AS c ON c.key = substr($1::bytea, k.at, k.len)
		ORDER BY c.key FOR UPDATE OF c)`,
}

// The texts that PostgreSQL gets for the names in braces. Each replacer also applies to the
// results of the one before.
var postgresNames = []*strings.Replacer{
	// One index look-up for each key, even if the planner has no statistics of the table.
	strings.NewReplacer("{found}", `{keys} CROSS JOIN LATERAL
		(SELECT key, cell FROM {t} WHERE key = substr($1::bytea, k.at, k.len) AND until > {now} LIMIT 1) AS c`),
	strings.NewReplacer(
		"{now}", `(date_part('epoch', clock_timestamp()) * 1000)::bigint`,
		// The same value for the whole statement, because the index can then be used.
		"{begun}", `(date_part('epoch', statement_timestamp()) * 1000)::bigint`,
		"{skip}", `FOR UPDATE SKIP LOCKED`,
		"{least}", "least",
		"{keys}", `unnest($2::text::int[], $3::text::int[]) WITH ORDINALITY AS k(at, len, n)`,
		"{cells}", `unnest($2::text::int[], $3::text::int[], $4::text::int[], $5::text::int[], $6::text::bigint[])
			WITH ORDINALITY AS k(at, len, cat, clen, ttl, n)`,
	),
}

// Not every version of SQLite has a millisecond clock. Therefore the tier's time is the first
// argument of the statements that need it.
var (
	sqliteNames = strings.NewReplacer("{skip}", "", "{least}", "min",
		"{found}", `{t} AS c WHERE c.until > {now} AND c.key IN (?`+strings.Repeat(", ?", slots-1)+`)`)
	sqlitePlaces = strings.NewReplacer("$", "?")
	sqliteTimed  = strings.NewReplacer("{now}", "?1", "{begun}", "?1", "$1", "?2", "$2", "?3", "$3", "?4", "$4", "?5")
)

// statement is the text for one database.
type statement struct {
	text  string
	clock bool // its first argument is the tier's clock
}

type statements [statementCount]statement

func newStatements(d Dialect, table string) (all statements) {
	for i, text := range texts {
		st := &all[i]
		if d == Postgres {
			for _, names := range postgresNames {
				text = names.Replace(text)
			}
		} else {
			text = sqliteNames.Replace(text)
			st.clock = strings.Contains(text, "{now}") || strings.Contains(text, "{begun}")
			if st.clock {
				text = sqliteTimed.Replace(text)
			} else {
				text = sqlitePlaces.Replace(text)
			}
		}
		st.text = strings.ReplaceAll(text, "{t}", table)
	}
	return all
}
