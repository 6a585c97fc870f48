package codec

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is a field as an encoder sees it. Index leads through embedded structs,
// whose fields it writes as if they were the outer struct's own.
type field struct {
	Type   reflect.Type
	Index  []int
	name   fieldName
	tagged bool
	omits  bool // it is left out when it is zero or empty
}

// fieldName tells the text "1" and the number 1 apart, as CBOR does.
type fieldName struct {
	text   string
	number bool
}

// tagging is how an encoder reads the tags of a struct.
type tagging struct {
	of      func(reflect.StructTag) string
	byName  bool // a tag counts only if it has a name
	numbers bool // keyasint is known
}

var (
	jsonTags = tagging{of: func(t reflect.StructTag) string { return t.Get("json") }, byName: true}
	cborTags = tagging{of: func(t reflect.StructTag) string { return cmp.Or(t.Get("cbor"), t.Get("json")) }, numbers: true}
)

// fieldsOf returns the fields of a struct that the encoder writes. It must
// leave none out, or a loop through it goes unseen; one too many only refuses
// a value whose loop is in a field that is hidden behind another of its name.
// The rules are encoding/json's, but for what may stand in a tag.
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
			// Two of a type on one level hide each other; below it they are
			// hidden. The latter ends an embedding of a type in itself.
			if times[s.Type] == 1 && !seen[s.Type] {
				seen[s.Type] = true
				all, deeper = tags.appendFields(all, deeper, s)
			}
		}
		level = deeper
	}
	return visible(all)
}

// appendFields appends the fields of s, and apart from them its embedded structs.
func (tags tagging) appendFields(fields, embedded []field, s field) (_, _ []field) {
	for i := range s.Type.NumField() {
		f := s.Type.Field(i)
		inline := tags.inline(f)
		tag := tags.of(f.Tag)
		if tag == "-" || !f.IsExported() && (!f.Anonymous || !isStruct(f.Type)) {
			continue
		}
		index := append(slices.Clone(s.Index), i)
		name, rest, _ := strings.Cut(tag, ",")
		if inline {
			embedded = append(embedded, field{Type: structOf(f.Type), Index: index})
			continue
		}
		options := strings.Split(rest, ",")
		fields = append(fields, field{
			Type: f.Type, Index: index, tagged: name != "" || tag != "" && !tags.byName,
			name:  fieldName{cmp.Or(name, f.Name), tags.numbers && slices.Contains(options, "keyasint")},
			omits: slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
		})
	}
	return fields, embedded
}

// inline reports whether the fields of f, a struct, are written as the outer
// struct's own.
func (tags tagging) inline(f reflect.StructField) bool {
	name, _, _ := strings.Cut(tags.of(f.Tag), ",")
	return f.Anonymous && isStruct(f.Type) && name == ""
}

// isStruct reports whether t is a struct or a pointer to one.
func isStruct(t reflect.Type) bool { return structOf(t).Kind() == reflect.Struct }

// structOf returns what t points to, if it is a pointer.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// visible drops the fields that others of their name hide: the least embedded
// one is written, then the one that has a tag, and none if that leaves two.
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

// fieldAt returns a field, or the zero Value behind an embedded nil pointer.
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
