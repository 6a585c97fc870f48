package triggers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// PostgreSQL has a trigger for each statement, which sees all rows that the statement changed. Its
// function writes one row of the outbox. The function runs with the rights of its owner, so a writer
// needs none on the outbox. It is one statement: there is no moment at which triggers are missing.
//
// A subscription of logical replication writes rows without statements. A trigger for each row sees
// them. It is enabled only for such writers, on the tables that have rows of their own.
//
// Others may be able to create functions and operators in the schema of the outbox, or in that of
// the session. Therefore each call names pg_catalog, or has exactly the types of an operator there.
// The function is in the schema of its table, so tables of one name in two schemas have one each.
const postgresTriggersText = `DO {do}
DECLARE
	part regclass;
	outbox text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {outbox}::regclass::oid);
	home text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {table}::regclass::oid);
	made text := pg_catalog.format('%I.%I()', home, {trigger});
	event text;
BEGIN
	EXECUTE pg_catalog.format('CREATE OR REPLACE FUNCTION %s RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS %L', made, {body}{source}{body});
	EXECUTE pg_catalog.format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', made, outbox);
	EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made);
	FOR part IN {tree} SELECT oid::regclass FROM tree LOOP
		FOREACH event IN ARRAY ARRAY['insert', 'update', 'delete', 'truncate'] LOOP
			EXECUTE pg_catalog.format('DROP TRIGGER IF EXISTS %I ON %s', {trigger} || '_' || event, part);
			EXECUTE pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s %s FOR EACH STATEMENT EXECUTE FUNCTION %s',
				{trigger} || '_' || event, pg_catalog.upper(event), part, CASE event
				WHEN 'insert' THEN 'REFERENCING NEW TABLE AS twofold_new'
				WHEN 'update' THEN 'REFERENCING OLD TABLE AS twofold_old NEW TABLE AS twofold_new'
				WHEN 'delete' THEN 'REFERENCING OLD TABLE AS twofold_old'
				ELSE '' END, made);
			EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', part, {trigger} || '_' || event);
		END LOOP;
		IF (SELECT relkind FROM pg_class WHERE oid = part::oid) = 'r'::"char" THEN
			EXECUTE pg_catalog.format('DROP TRIGGER IF EXISTS %I ON %s', {trigger} || '_row', part);
			EXECUTE pg_catalog.format('CREATE TRIGGER %I AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s', {trigger} || '_row', part, made);
			EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE REPLICA TRIGGER %I', part, {trigger} || '_row');
		END IF;
	END LOOP;
END {do}`

// postgresUndo drops the function of the table's triggers, and them with it. A table that was moved may have
// left its function where a session finds it first, so a bare name might drop that one and no trigger. The
// function is dropped even if the table is gone. It is one line: tools that split at line ends keep it whole.
const postgresUndo = `DO {do} DECLARE made regprocedure; BEGIN FOR made IN SELECT p.oid::regprocedure FROM pg_proc p` +
	` WHERE p.proname = {trigger} AND p.pronargs = 0 AND ({here}` +
	` OR p.oid IN (SELECT t.tgfoid FROM pg_trigger t WHERE t.tgrelid = pg_catalog.to_regclass({table})::oid))` +
	` LOOP EXECUTE pg_catalog.format('DROP FUNCTION %s CASCADE', made); END LOOP; END {do}`

// Up to MaxScopes scopes are named one by one. The function counts no further, because the text of
// more might be too large. It then names what covers them, and above MaxScopes of these everything.
const postgresSource = `
{made}
#variable_conflict use_column
DECLARE
	named text;
	many bigint;
BEGIN
	IF TG_LEVEL = 'ROW' THEN
{row}
	ELSE
{statement}
	END IF;
	IF named IS NOT NULL THEN
		INSERT INTO {outbox} (ns, scopes) VALUES ({ns}, '[' || named || ']');
	END IF;
	RETURN NULL;
END
`

// postgresEvents is for the transition tables of a statement, or for a single row.
const postgresEvents = `		IF TG_OP = 'INSERT' THEN
{insert}
		ELSIF TG_OP = 'UPDATE' THEN
{update}
		ELSIF TG_OP = 'DELETE' THEN
{delete}
		ELSE
			named := {truncate};
		END IF;`

const postgresNaming = `			SELECT pg_catalog.count(*), pg_catalog.string_agg(d.e, ',') INTO many, named FROM ({each} LIMIT {most} + 1) d;
			IF many > {most} THEN
				SELECT CASE WHEN pg_catalog.count(*) <= {most} THEN pg_catalog.string_agg(d.e, ',') ELSE '["a"]' END INTO named FROM ({wide} LIMIT {most} + 1) d;
			END IF;`

// postgresNames returns the statements that put into named what a query names. The query names each
// scope, or with wide what covers all scopes of its kind.
func postgresNames(query func(wide bool) string) string {
	return sqltext.Fill(postgresNaming, map[string]string{"each": query(false), "wide": query(true), "most": strconv.Itoa(outbox.MaxScopes)})
}

// postgresSource returns the text of the function of a table.
func (c *target) postgresSource(m *mapped) string {
	truncate := []string{}
	for _, e := range m.elements {
		w := e.widest()
		if len(w.columns) > 0 { // a TRUNCATE shows no rows, and so no tenants
			truncate = []string{`["a"]`}
			break
		}
		if !slices.Contains(truncate, w.texts[0]) {
			truncate = append(truncate, w.texts[0])
		}
	}
	events := func(old, now string) string {
		return sqltext.Fill(postgresEvents, map[string]string{
			"insert":   postgresNames(func(wide bool) string { return postgresChanges(m, now, wide) }),
			"delete":   postgresNames(func(wide bool) string { return postgresChanges(m, old, wide) }),
			"update":   postgresNames(func(wide bool) string { return postgresUpdates(m, old, now, wide) }),
			"truncate": sqltext.Literal(sqltext.Postgres, strings.Join(truncate, ",")),
		})
	}
	return sqltext.Fill(postgresSource, map[string]string{
		"made":      madeBy,
		"statement": events("twofold_old", "twofold_new"),
		"row":       events("(SELECT OLD.*)", "(SELECT NEW.*)"),
		"outbox":    sqltext.Qualified(c.schema, c.outbox),
		"ns":        sqltext.Literal(sqltext.Postgres, c.namespace),
	})
}

// postgresChanges selects what the rows of a table stand for.
func postgresChanges(m *mapped, table string, wide bool) string {
	var values []string
	for _, e := range m.elements {
		values = append(values, postgresNamed(&e, "r", wide))
	}
	return "SELECT DISTINCT s.e FROM " + table + " r" + m.lateral(values)
}

// postgresUpdates selects what the old rows and the new rows stand for. With Only, an old row is
// compared with the new row of the same key. A row whose key has changed has no partner, and counts.
func postgresUpdates(m *mapped, old, now string, wide bool) string {
	var parts, always []string
	for _, e := range m.elements {
		if e.only == nil {
			always = append(always, postgresNamed(&e, "r", wide))
		}
	}
	if len(always) > 0 {
		each := " r" + m.lateral(always)
		parts = append(parts, "SELECT s.e FROM "+old+each, "SELECT s.e FROM "+now+each)
	}
	if len(always) < len(m.elements) {
		parts = append(parts, postgresCompared(m, old, now, wide))
	}
	return strings.Join(parts, " UNION ")
}

// postgresCompared selects what rows stand for if a column in Only has changed in them. It compares
// the stored bytes, so it can compare each type, and a change that a collation does not see counts.
// It matches rows as records: their types decide what is equal, in any schema. Keys with a NULL match
// nothing.
func postgresCompared(m *mapped, old, now string, wide bool) string {
	var values []string
	for _, e := range m.elements {
		if e.only == nil {
			continue
		}
		changed := "o." + sqltext.Quote(sqltext.Postgres, m.Unique[0][0]) + " IS NULL OR n." + sqltext.Quote(sqltext.Postgres, m.Unique[0][0]) + " IS NULL OR " +
			postgresRecord("o", e.only) + " *<> " + postgresRecord("n", e.only)
		values = append(values, postgresNamed(&e, "o", wide, changed), postgresNamed(&e, "n", wide, changed))
	}
	return "SELECT s.e FROM " + old + " o FULL JOIN " + now + " n ON " +
		postgresRecord("o", m.Unique[0], postgresRow("o", m.Unique[0])+" IS NOT NULL") + " = " + postgresRecord("n", m.Unique[0], "true") + m.lateral(values)
}

// lateral joins a row with the elements that it names: those that are not NULL, and not too long.
func (m *mapped) lateral(values []string) string {
	return " CROSS JOIN LATERAL (VALUES " + strings.Join(values, ", ") + ") s(e) WHERE pg_catalog.octet_length(s.e) <= " + strconv.Itoa(m.longest())
}

func postgresRecord(alias string, columns []string, more ...string) string {
	return "CAST(" + postgresRow(alias, columns, more...) + " AS record)"
}

func postgresRow(alias string, columns []string, more ...string) string {
	var fields []string
	for _, c := range columns {
		fields = append(fields, alias+"."+sqltext.Quote(sqltext.Postgres, c))
	}
	return "ROW(" + strings.Join(append(fields, more...), ", ") + ")"
}

// postgresNamed returns an element as a row of VALUES, or its wider form if the element is not NULL.
// A NULL in a column makes the element NULL.
func postgresNamed(e *element, alias string, wide bool, when ...string) string {
	value := e.spelled(sqltext.Postgres, alias+".")
	if wide {
		when = append(when, value+" IS NOT NULL")
		value = e.widest().spelled(sqltext.Postgres, alias+".")
	}
	if len(when) > 0 {
		value = "CASE WHEN (" + strings.Join(when, ") AND (") + ") THEN " + value + " END"
	}
	return "(" + value + ")"
}

// postgresTriggers returns the statement that makes the triggers, and the one that removes them.
func (c *target) postgresTriggers(m *mapped) (do, undo []string) {
	table := sqltext.QuoteAll(sqltext.Postgres, m.Schema, m.Name)
	source := c.postgresSource(m)
	tag := "twofold"
	for strings.Contains(source+m.trigger+table, "$"+tag) { // no part of the text may end its quotation
		tag += "_"
	}
	here := "pg_catalog.pg_function_is_visible(p.oid)"
	if m.Schema != "" {
		here = "p.pronamespace = pg_catalog.to_regnamespace(" + sqltext.Literal(sqltext.Postgres, sqltext.QuoteAll(sqltext.Postgres, m.Schema)) + ")::oid"
	}
	names := map[string]string{
		"do": "$" + tag + "_do$", "body": "$" + tag + "_body$", "source": source, "here": here,
		"outbox": sqltext.Literal(sqltext.Postgres, sqltext.Qualified(c.schema, c.outbox)), "table": sqltext.Literal(sqltext.Postgres, table),
		"trigger": sqltext.Literal(sqltext.Postgres, m.trigger), "tree": strings.ReplaceAll(postgresTree, "{table}", sqltext.Literal(sqltext.Postgres, table)+"::regclass"),
	}
	return []string{sqltext.Fill(postgresTriggersText, names)}, []string{sqltext.Fill(postgresUndo, names)}
}
