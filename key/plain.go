package key

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Most structs that are used as keys have only plain fields: booleans, integers, strings of
// printable ASCII, and structs of these. Hash writes their canonical JSON in one walk. All other
// values go through [json.Marshal]. TestPlainAgrees compares the two.

// plainType is how to write a type, made once for each type.
type plainType struct {
	kind   reflect.Kind // after plainKind
	fields []plainField // of a struct, in the order of their JSON names
}

type plainField struct {
	index int
	name  string // as in JSON, with quotes, and the colon
	*plainType
}

var plainTypes sync.Map // reflect.Type → *plainType; nil if not plain

// appendPlain appends the canonical JSON of a struct to b, or reports that it cannot.
func appendPlain(b []byte, v reflect.Value) ([]byte, bool) {
	if v.Kind() != reflect.Struct {
		return b, false
	}
	t, known := plainTypes.Load(v.Type())
	if !known {
		t, _ = plainTypes.LoadOrStore(v.Type(), plainTypeOf(v.Type(), 0))
	}
	if p, _ := t.(*plainType); p != nil {
		return p.append(b, v)
	}
	return b, false
}

func (p *plainType) append(b []byte, v reflect.Value) ([]byte, bool) {
	const exact = 1 << 53 // integers up to it are the same as doubles
	switch p.kind {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), true
	case reflect.Int64:
		n := v.Int()
		return strconv.AppendInt(b, n, 10), -exact < n && n < exact
	case reflect.Uint64:
		n := v.Uint()
		return strconv.AppendUint(b, n, 10), n < exact
	case reflect.String:
		return appendPlainText(b, v.String())
	}
	var ok bool
	b = append(b, '{')
	for i := range p.fields {
		f := &p.fields[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, f.name...)
		if b, ok = f.append(b, v.Field(f.index)); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// appendPlainText appends a text that JSON writes without escapes.
func appendPlainText(b []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return b, false
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), true
}

// plainTypeOf returns nil for a type that is not plain.
func plainTypeOf(t reflect.Type, depth int) *plainType {
	kind := plainKind(t.Kind())
	if kind == reflect.Invalid || depth > 8 || t == numberType ||
		marshals(t) || marshals(reflect.PointerTo(t)) {
		return nil
	}
	p := &plainType{kind: kind}
	if kind != reflect.Struct {
		return p
	}
	for f := range t.Fields() {
		name := f.Tag.Get("json")
		if name == "" {
			name = f.Name
		}
		of := plainTypeOf(f.Type, depth+1)
		if !f.IsExported() || f.Anonymous || !isPlainName(name) || of == nil {
			return nil
		}
		p.fields = append(p.fields, plainField{f.Index[0], `"` + name + `":`, of})
	}
	slices.SortFunc(p.fields, func(a, b plainField) int { return strings.Compare(a.text(), b.text()) })
	for i := range p.fields[:max(len(p.fields)-1, 0)] {
		if p.fields[i].name == p.fields[i+1].name {
			return nil // each hides the other
		}
	}
	return p
}

// text returns the name without the quotes and the colon.
func (f *plainField) text() string { return f.name[1 : len(f.name)-2] }

func plainKind(k reflect.Kind) reflect.Kind {
	switch k {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return reflect.Int64
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return reflect.Uint64
	case reflect.Bool, reflect.String, reflect.Struct:
		return k
	}
	return reflect.Invalid
}

// isPlainName reports whether a JSON tag is a name of ASCII letters, digits and underscores.
func isPlainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}
