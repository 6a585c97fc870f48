package cachez

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// numbers are the fields of a statistics struct, in their order. New fields of the library appear
// without a change here.
type numbers []number

// number is one of them. Its value is an integer, a text, or a duration in seconds.
type number struct {
	Name  string // in snake case
	Value any
}

// numbersOf reads a struct. It replaces struct fields by their fields, whose names then begin with that of
// the struct, and leaves out maps and slices.
func numbersOf(v any) (all numbers) {
	for f, value := range reflect.ValueOf(v).Fields() {
		name := snake(f.Name)
		switch x := value.Interface().(type) {
		case time.Duration:
			seconds := x.Round(time.Millisecond).Seconds()
			if x < 0 {
				seconds = -1 // it never happened
			}
			all = append(all, number{name + "_seconds", seconds})
		default:
			switch {
			case value.Kind() == reflect.Struct:
				for _, n := range numbersOf(x) {
					all = append(all, number{name + "_" + n.Name, n.Value})
				}
			case value.CanInt() || value.CanUint() || value.Kind() == reflect.String:
				all = append(all, number{name, x})
			}
		}
	}
	return all
}

// snake returns "local_hits" for "LocalHits".
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

// MarshalJSON writes an object that keeps the order of the fields.
func (n numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range n {
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, x.Name), ':')
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// Label is the name as a person reads it.
func (n number) Label() string { return strings.ReplaceAll(n.Name, "_", " ") }

// IsZero reports whether the number is zero.
func (n number) IsZero() bool { return reflect.ValueOf(n.Value).IsZero() }

// table is rows without the columns that are zero in all of them.
type table struct {
	Columns []string // labels
	Rows    []tableRow
}

type tableRow struct {
	row
	Cells []any
}

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
