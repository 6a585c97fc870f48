package triggers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
	"github.com/twofold-go/twofold/key"
)

// Table says what the rows of a table stand for in caches. [SQL] makes triggers of it. They
// invalidate in the transaction that writes the table, no matter which program writes it. Name and
// Rows are required.
type Table struct {
	// Name is the table, with its schema before the first dot: "users" or "app.users". Without a
	// schema, the table is where the session that runs the text finds it.
	Name string

	// Schema is for schemas and tables with a dot in their names. If it is set, Name is only the
	// table.
	Schema string

	// Rows says what one row stands for.
	Rows []Row

	// Tenant is the tenant of the caches. If empty, it is "default", as in cache.Config.
	Tenant string

	// TenantColumn is a column with the tenant of the row, in place of Tenant. A row with NULL there
	// stands for nothing.
	TenantColumn string

	// Unique lists the columns of each unique constraint, the primary key first. If empty, it is
	// the Column of the first Row with a Key. PostgreSQL uses the first one, to match the old row
	// with the new one for Only. SQLite needs all of them, to see the rows that INSERT OR REPLACE
	// removes.
	Unique [][]string

	// Cascades says that you know: MariaDB fire no trigger when a foreign key of this table
	// removes or changes rows (ON DELETE CASCADE or SET NULL, ON UPDATE). [Check]
	// refuses such a table if Cascades is false. The other databases ignore the field.
	Cascades bool
}

// Row is one scope that a row of a [Table] stands for: a key of a cache, or a tag. The values come
// from columns of integers, of text or, as lower-case text, of UUIDs.
type Row struct {
	// Key is the Namespace of a cache, such as users.Namespace(), whose key is Column. The keys of that
	// cache must be strings, integers or UUIDs; see key.Of. Keys of other types are hashed, which SQL
	// cannot do: use Tag for those. A text column must spell UUIDs as Go does, in lower case.
	Key string

	// Tag is a tag, or its beginning if there are columns: with Column "org_id", "org:" is the tag
	// "org:7". A change names the tag of the old row and the tag of the new row.
	Tag string

	// Column has the value of the key, or the end of the tag. A NULL names nothing.
	Column string

	// Columns are for a Tag that ends in several values. A colon stands between them: with Tag "seat:"
	// and Columns "room" and "number", the tag is "seat:12:4".
	Columns []string

	// Only names columns. An UPDATE counts only if it changes one of them, or a column that the Row
	// names. If empty, each UPDATE counts. An INSERT or a DELETE always counts.
	Only []string
}

// ErrTable is wrapped by each fault of a [Table], or of the table in the database that it names.
// Nothing was changed.
var ErrTable = errors.New("triggers: bad table")

// mapped is a Table that has passed its check.
type mapped struct {
	Table
	at       string // its place in the arguments, for errors
	trigger  string // the beginning of the names of its triggers
	elements []element
}

// element is a scope of a row in the JSON of the outbox. Values of columns stand between its texts.
type element struct {
	texts   []string // one more than columns
	columns []string
	wide    *element // covers all that this element can name; nil means itself
	only    []string // an UPDATE counts if one of these columns has changed; nil means that each does
}

// maxName is the most bytes of a name in a database.
var maxName = map[string]int{sqltext.Postgres: 63, sqltext.SQLite: 255, sqltext.MariaDB: 64}

// mapTables checks tables, and returns every fault, joined.
func mapTables(d string, tables []Table) (all []mapped, err error) {
	var errs []error
	if len(tables) == 0 {
		errs = append(errs, fmt.Errorf("%w: there are no tables; pass one or more", ErrTable))
	}
	seen := map[[2]string]bool{}
	for i, t := range tables {
		m := mapped{Table: t, at: fmt.Sprintf("tables[%d]", i)}
		if schema, name, found := strings.Cut(t.Name, "."); found && t.Schema == "" {
			m.Schema, m.Name = schema, name
			if schema == "" {
				errs = append(errs, m.fault("Name has a dot first; write schema.table, or set Schema"))
			}
		}
		errs = append(errs, m.check(d)...)
		if seen[[2]string{m.Schema, m.Name}] {
			errs = append(errs, m.fault("Name is the table of an earlier one; put all its Rows into one Table"))
		}
		seen[[2]string{m.Schema, m.Name}] = true
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}

func (m *mapped) fault(format string, args ...any) error {
	return fmt.Errorf("%w: %s.%s", ErrTable, m.at, fmt.Sprintf(format, args...))
}

// check returns the faults of a table, and fills in what follows from its fields.
func (m *mapped) check(d string) (errs []error) {
	refuse := func(format string, args ...any) { errs = append(errs, m.fault(format, args...)) }
	name := func(field, value string) {
		if value == "" || len(value) > maxName[d] || strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			refuse("%s has %d bytes; name one in 1 to %d bytes of UTF-8 without NUL", field, len(value), maxName[d])
		}
	}
	name("Name", m.Name)
	if m.Schema != "" {
		name("Schema", m.Schema)
	}
	fields, columns, _ := m.named()
	for i, c := range columns {
		name(fields[i], c)
	}
	if m.TenantColumn != "" && m.Tenant != "" {
		refuse("TenantColumn is set beside Tenant; set one of them")
	}
	m.Tenant = cmp.Or(m.Tenant, "default")
	if err := (key.Space{Tenant: m.Tenant, Namespace: "x"}).Validate(); err != nil {
		refuse("Tenant of %d bytes: %v", len(m.Tenant), err)
	}
	if len(m.Rows) == 0 {
		refuse("Rows is empty; say what a row stands for")
	}
	for i, r := range m.Rows {
		for _, fault := range m.checkRow(r) {
			refuse("Rows[%d].%s", i, fault)
		}
		if r.Key != "" && len(m.Unique) == 0 {
			m.Unique = [][]string{{r.Column}}
		}
		m.elements = append(m.elements, m.element(r))
	}
	for i, columns := range m.Unique {
		if len(columns) == 0 {
			refuse("Unique[%d] has no columns; name those of a unique constraint", i)
		}
	}
	if len(m.Unique) == 0 && d == sqltext.Postgres && slices.ContainsFunc(m.Rows, func(r Row) bool { return len(r.Only) > 0 }) {
		refuse("Unique is empty and a Row has Only; name the columns of the primary key, which match the old row with the new one")
	}
	m.trigger = triggerName(d, m.Name)
	return errs
}

// checkRow returns what is wrong with the combination of fields.
func (m *mapped) checkRow(r Row) (faults []string) {
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch {
	case (r.Key == "") == (r.Tag == ""):
		refuse("Key has %d bytes and Tag %d; set one of the two", len(r.Key), len(r.Tag))
	case r.Key != "" && len(r.Columns) > 0:
		refuse("Columns has %d columns beside Key: a key of several values is hashed, which SQL cannot do; give the value a tag, and set Tag with these Columns", len(r.Columns))
	case r.Key != "" && r.Column == "":
		refuse("Column is empty; name the column that is the key")
	case r.Column != "" && len(r.Columns) > 0:
		refuse("Column is set beside Columns; put all into Columns")
	}
	if r.Key != "" {
		if err := (key.Space{Tenant: m.Tenant, Namespace: r.Key}).Validate(); err != nil {
			refuse("Key of %d bytes: %v", len(r.Key), err)
		}
	}
	if r.Tag != "" {
		if err := invalidate.Tag("x", r.Tag).Validate(); err != nil {
			refuse("Tag of %d bytes: %v", len(r.Tag), err)
		}
	}
	return faults
}

// columns returns the columns whose values are part of the scope.
func (r *Row) columns() []string {
	if r.Column != "" {
		return append([]string{r.Column}, r.Columns...)
	}
	return r.Columns
}

// element returns the scope that r names. See package outbox for its form.
func (m *mapped) element(r Row) element {
	e := m.begin(outbox.KindValue)
	if r.Tag != "" {
		e = m.begin(outbox.KindEnds)
	}
	wide := element{texts: slices.Clone(e.texts), columns: slices.Clone(e.columns)}
	if r.Key != "" {
		wide.text("," + jsonText(r.Key))
	}
	e.text("," + jsonText(cmp.Or(r.Key, r.Tag)))
	for _, c := range r.columns() {
		e.text(",")
		e.column(c)
	}
	e.text("]")
	wide.text("]")
	if len(r.columns()) > 0 {
		e.wide = &wide
	}
	if len(r.Only) > 0 {
		e.only = slices.Concat(r.Only, e.columns)
	}
	return e
}

// begin returns an element with its kind and its tenant.
func (m *mapped) begin(kind string) element {
	e := element{texts: []string{"[" + jsonText(kind) + ","}}
	if m.TenantColumn != "" {
		e.column(m.TenantColumn)
	} else {
		e.text(jsonText(m.Tenant))
	}
	return e
}

func (e *element) text(s string) { e.texts[len(e.texts)-1] += s }

func (e *element) column(name string) {
	e.columns, e.texts = append(e.columns, name), append(e.texts, "")
}

// widest returns the element that covers all of e: e itself if it has no columns of its own.
func (e *element) widest() *element {
	if e.wide != nil {
		return e.wide
	}
	return e
}

// named returns every column that the triggers read, with the field that names it.
func (m *mapped) named() (fields, columns []string, values int) {
	add := func(field string, names ...string) {
		for _, c := range names {
			fields, columns = append(fields, field), append(columns, c)
		}
	}
	if m.TenantColumn != "" {
		add("TenantColumn", m.TenantColumn)
	}
	for i, r := range m.Rows {
		if r.Column != "" {
			add(fmt.Sprintf("Rows[%d].Column", i), r.Column)
		}
		add(fmt.Sprintf("Rows[%d].Columns", i), r.Columns...)
	}
	values = len(columns)
	for i, r := range m.Rows {
		add(fmt.Sprintf("Rows[%d].Only", i), r.Only...)
	}
	for i, u := range m.Unique {
		add(fmt.Sprintf("Unique[%d]", i), u...)
	}
	return fields, columns, values
}
