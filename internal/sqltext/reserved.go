// Package sqltext is what the packages that keep tables in the user's database share: how each dialect
// spells names and placeholders, their migrations and how they install them, and what the errors of databases
// mean. It imports no driver.
package sqltext

import (
	"slices"
	"strings"
)

// The reserved words of PostgreSQL 15, SQLite, and MariaDB with those of MySQL 8, in lower case. Other
// keywords may name a table.
const (
	postgres = "all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column " +
		"concurrently constraint create cross current_catalog current_date current_role current_schema current_time current_timestamp " +
		"current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full grant group having " +
		"ilike in initially inner intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not " +
		"notnull null offset on only or order outer overlaps placing primary references returning right select session_user similar " +
		"some symmetric table tablesample then to trailing true union unique user using variadic verbose when where window with"

	sqlite = "add all alter and as autoincrement between case check collate commit constraint create default deferrable delete distinct " +
		"drop else escape exists foreign from group having in index insert intersect into is isnull join limit not notnull null on or " +
		"order primary references select set table then to transaction union unique update using values when where"

	mariadb = "add all alter analyze and as asc before between both by call cascade case change check collate column condition constraint " +
		"continue convert create cross current_date current_time current_timestamp current_user cursor database databases default delayed " +
		"delete desc describe distinct distinctrow div drop dual each else elseif enclosed escaped except exists exit explain false fetch " +
		"for force foreign from fulltext grant group having if ignore in index infile inner inout insert interval into is iterate join key " +
		"keys kill leading leave left like limit lines load localtime localtimestamp lock loop match mod natural not null numeric on " +
		"optimize option optionally or order out outer outfile over partition precision primary procedure purge range read reads real " +
		"recursive references regexp release rename repeat replace require resignal restrict return revoke right rlike rows schema schemas " +
		"select separator set show signal spatial sql starting table terminated then to trailing trigger true undo union unique unlock " +
		"unsigned update usage use using values varying when where while with write xor zerofill"
)

var reserved = map[string][]string{
	Postgres: strings.Fields(postgres), SQLite: strings.Fields(sqlite), MariaDB: strings.Fields(mariadb),
}

// Reserved reports whether a name of letters, digits and underscores is a reserved word of a
// dialect. In "schema.table" only the schema must not be one.
func Reserved(dialect, name string) bool {
	first, _, _ := strings.Cut(name, ".")
	return slices.Contains(reserved[dialect], strings.ToLower(first))
}
