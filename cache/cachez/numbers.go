package cachez

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// numbers are the fields of a struct of statistics, in its order. What the library counts
// some day is shown without a word here.
type numbers []number

// number is one of them. Its value is an integer, a text or, in seconds, a duration.
type number struct {
	Name  string // in snake case
	Value any
}

// numbersOf reads a struct. Of fields that are structs it takes the fields, and it leaves out
// maps and slices.
func numbersOf(v any) (all numbers) {
	for f, value := range reflect.ValueOf(v).Fields() {
		name := snake(f.Name)
		switch x := value.Interface().(type) {
		case time.Duration:
			seconds := x.Round(time.Millisecond).Seconds()
			if x < 0 {
				seconds = -1 // never
			}
			all = append(all, number{name + "_seconds", seconds})
		default:
			switch {
			case value.Kind() == reflect.Struct:
				all = append(all, numbersOf(x)...)
			case value.CanInt() || value.CanUint() || value.Kind() == reflect.String:
				all = append(all, number{name, x})
			}
		}
	}
	return all
}

// snake writes "local_hits" for "LocalHits".
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// MarshalJSON writes an object whose members are in order.
func (n numbers) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range n {
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Label is the name for a person.
func (n number) Label() string { return strings.ReplaceAll(n.Name, "_", " ") }

// IsZero reports whether nothing has happened that it counts.
func (n number) IsZero() bool { return reflect.ValueOf(n.Value).IsZero() }

// table is rows with the columns that say anything.
type table struct {
	Columns []string // labels
	Rows    []tableRow
}

type tableRow struct {
	row
	Cells []any
}

// tableOf leaves out the numbers that are zero in all rows.
func tableOf(rows []row) (t table) {
	var shown []int
	if len(rows) > 0 {
		for i, n := range rows[0].Counts {
			for _, r := range rows {
				if !r.Counts[i].IsZero() {
					shown, t.Columns = append(shown, i), append(t.Columns, n.Label())
					break
				}
			}
		}
	}
	for _, r := range rows {
		tr := tableRow{row: r}
		for _, i := range shown {
			tr.Cells = append(tr.Cells, r.Counts[i].Value)
		}
		t.Rows = append(t.Rows, tr)
	}
	return t
}
