package codec

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is a field as an encoder sees it. Index leads through embedded structs, whose fields
// belong to the outer struct in the encoding.
type field struct {
	Type   reflect.Type
	Index  []int
	name   fieldName
	tagged bool
	omits  bool // the encoding leaves it out if it is zero or empty
}

// fieldName distinguishes the text "1" and the number 1, as CBOR does.
type fieldName struct {
	text   string
	number bool
}

// tagging says how an encoder reads the tags of a struct.
type tagging struct {
	of      func(reflect.StructTag) string
	byName  bool // a tag without a name does not count
	numbers bool // the option keyasint counts
}

var (
	jsonTags = tagging{of: func(t reflect.StructTag) string { return t.Get("json") }, byName: true}
	cborTags = tagging{of: func(t reflect.StructTag) string { return cmp.Or(t.Get("cbor"), t.Get("json")) }, numbers: true}
)

// fieldsOf returns the fields of a struct that the encoder writes. If it left one out, a loop
// through that field would go undetected. If it returned one too many, it would only refuse a
// value whose loop is in a hidden field. The rules are those of encoding/json, except for the
// syntax of a tag.
func fieldsOf(t reflect.Type, tags tagging) []field {
	var all []field
	seen := make(map[reflect.Type]bool)
	for level := []field{{Type: t}}; len(level) > 0; {
		times := make(map[reflect.Type]int)
		for _, s := range level {
			times[s.Type]++
		}
		var deeper []field
		for _, s := range level {
			// Two structs of one type on one level hide each other. A type seen on a higher level
			// hides those below, which ends the embedding of a type in itself.
			if times[s.Type] == 1 && !seen[s.Type] {
				seen[s.Type] = true
				all, deeper = tags.appendFields(all, deeper, s)
			}
		}
		level = deeper
	}
	return visible(all)
}

// appendFields appends the fields of s to fields and its embedded structs to embedded.
func (tags tagging) appendFields(fields, embedded []field, s field) (_, _ []field) {
	for i := range s.Type.NumField() {
		f := s.Type.Field(i)
		inline := tags.inline(f)
		tag := tags.of(f.Tag)
		if tag == "-" || !f.IsExported() && (!f.Anonymous || !isStruct(f.Type)) {
			continue
		}
		index := append(slices.Clone(s.Index), i)
		name, _, _ := strings.Cut(tag, ",")
		if inline {
			embedded = append(embedded, field{Type: structOf(f.Type), Index: index})
			continue
		}
		fields = append(fields, field{
			Type: f.Type, Index: index, tagged: name != "" || tag != "" && !tags.byName,
			name:  fieldName{cmp.Or(name, f.Name), tags.numbers && tags.has(f, "keyasint")},
			omits: tags.has(f, "omitempty") || tags.has(f, "omitzero"),
		})
	}
	return fields, embedded
}

// has reports whether the tag of f has an option.
func (tags tagging) has(f reflect.StructField, option string) bool {
	_, options, _ := strings.Cut(tags.of(f.Tag), ",")
	return slices.Contains(strings.Split(options, ","), option)
}

// inline reports whether the fields of f, a struct, belong to the outer struct in the encoding.
func (tags tagging) inline(f reflect.StructField) bool {
	name, _, _ := strings.Cut(tags.of(f.Tag), ",")
	return f.Anonymous && isStruct(f.Type) && name == ""
}

// isStruct reports whether t is a struct or a pointer to one.
func isStruct(t reflect.Type) bool { return structOf(t).Kind() == reflect.Struct }

// structOf returns the type that t points to, or t if it is not a pointer.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// visible drops fields that another field of the same name hides. The least embedded field wins,
// then the one with a tag. If two remain, both are dropped.
func visible(fields []field) []field {
	byName := make(map[fieldName][]field)
	for _, f := range fields {
		byName[f.name] = append(byName[f.name], f)
	}
	return slices.DeleteFunc(fields, func(f field) bool {
		for _, other := range byName[f.name] {
			if !slices.Equal(f.Index, other.Index) && !hides(f, other) {
				return true
			}
		}
		return false
	})
}

func hides(f, other field) bool {
	if len(f.Index) != len(other.Index) {
		return len(f.Index) < len(other.Index)
	}
	return f.tagged && !other.tagged
}

// fieldAt returns a field, or the zero Value if an embedded pointer on the way is nil.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}
