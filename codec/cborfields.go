package codec

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// cborField is a field as the encoder sees it. Index leads through embedded
// structs, whose fields it writes as if they were the outer struct's own.
type cborField struct {
	Type   reflect.Type
	Index  []int
	name   cborName
	tagged bool
}

// cborName tells the text "1" and the number 1 apart, as the encoder does.
type cborName struct {
	text   string
	number bool
}

// cborFields returns the fields of a struct that the encoder writes. It must
// leave none out, or a loop through it goes unseen; one too many only refuses
// a value whose loop is in a field that is hidden behind another of its name.
// The rules are encoding/json's, but for what may stand in a tag.
func cborFields(t reflect.Type) []cborField {
	var all []cborField
	seen := make(map[reflect.Type]bool)
	for level := []cborField{{Type: t}}; len(level) > 0; {
		times := make(map[reflect.Type]int)
		for _, s := range level {
			times[s.Type]++
		}
		var deeper []cborField
		for _, s := range level {
			// Two of a type on one level hide each other; below it they are
			// hidden. The latter ends an embedding of a type in itself.
			if times[s.Type] == 1 && !seen[s.Type] {
				seen[s.Type] = true
				all, deeper = appendFields(all, deeper, s)
			}
		}
		level = deeper
	}
	return visible(all)
}

// appendFields appends the fields of s, and apart from them its embedded structs.
func appendFields(fields, embedded []cborField, s cborField) (_, _ []cborField) {
	for i := range s.Type.NumField() {
		f := s.Type.Field(i)
		base := f.Type
		if f.Anonymous && base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		inline := f.Anonymous && base.Kind() == reflect.Struct
		tag := cmp.Or(f.Tag.Get("cbor"), f.Tag.Get("json"))
		if tag == "-" || !f.IsExported() && !inline {
			continue
		}
		index := append(slices.Clone(s.Index), i)
		name, options, _ := strings.Cut(tag, ",")
		if inline && name == "" {
			embedded = append(embedded, cborField{Type: base, Index: index})
			continue
		}
		number := slices.Contains(strings.Split(options, ","), "keyasint")
		fields = append(fields, cborField{f.Type, index, cborName{cmp.Or(name, f.Name), number}, tag != ""})
	}
	return fields, embedded
}

// visible drops the fields that others of their name hide: the least embedded
// one is written, then the one that has a tag, and none if that leaves two.
func visible(fields []cborField) []cborField {
	byName := make(map[cborName][]cborField)
	for _, f := range fields {
		byName[f.name] = append(byName[f.name], f)
	}
	return slices.DeleteFunc(fields, func(f cborField) bool {
		for _, other := range byName[f.name] {
			if !slices.Equal(f.Index, other.Index) && !hides(f, other) {
				return true
			}
		}
		return false
	})
}

func hides(f, other cborField) bool {
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
