package cachez

import (
	"encoding/json"
	"fmt"
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
			seconds := secondsOf(x)
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

// secondsOf returns seconds with at most three decimals. Duration.Seconds returns 1.8199999999999998 for
// 1.82 s.
func secondsOf(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
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

// Text is the value as a person reads it.
func (n number) Text() string {
	if v := reflect.ValueOf(n.Value); v.CanInt() {
		return grouped(v.Int())
	}
	return fmt.Sprint(n.Value)
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// String lists the numbers that are not zero: "corrupt 3, foreign 1".
func (n numbers) String() string {
	var all []string
	for _, x := range n {
		if !x.IsZero() {
			all = append(all, x.Label()+" "+x.Text())
		}
	}
	return strings.Join(all, ", ")
}

// add adds the counters of from, times sign, to those of to. It leaves out texts and maps.
func add[T any](to *T, from *T, sign int64) {
	addFields(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem(), sign)
}

func addFields(to, from reflect.Value, sign int64) {
	for i := range to.NumField() {
		switch f := to.Field(i); f.Kind() {
		case reflect.Struct:
			addFields(f, from.Field(i), sign)
		case reflect.Int64:
			f.SetInt(f.Int() + sign*from.Field(i).Int())
		}
	}
}
