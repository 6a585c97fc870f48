package codec

import (
	"reflect"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
)

// plan says how much memory the items of an encoding take when they are decoded into a type. It
// leaves out the bytes of texts, which are about as long as their encoding.
type plan struct {
	pointer bool
	item    int64 // of an item other than null: what a pointer points to, or what an interface holds
	list    part
	dict    part
	elem    *plan            // of a slice, an array or a map; what a pointer points to
	fields  map[string]*plan // of a struct
	folded  map[string]*plan // the same by their folded names, for formats with names in any letter case
	names   []string         // of fields, in the order of the struct
}

// part is the memory of a list or a dict, and of each of its elements or pairs.
type part struct{ once, each int64 }

// A Go map has a header, and room for eight pairs with its first pair. It doubles when it grows,
// so it may have room for twice as many pairs as it holds.
const (
	mapHeader = 48
	mapGroup  = 8
	mapGrowth = 2
)

func mapOf(pair int64) part { return part{mapHeader + mapGroup*pair, mapGrowth * pair} }

// boxed is the size of an interface, and of the header of a text.
const boxed = 16

var (
	// skipped is for items that a decoder leaves out.
	skipped = looped(plan{})

	// ofAny is for what a decoder makes for an any: numbers, texts, []any and map[string]any.
	ofAny = looped(plan{item: boxed, list: part{8, boxed}, dict: mapOf(2*boxed + 1)})
)

// looped returns p as the plan of its own elements.
func looped(p plan) *plan {
	p.elem = &p
	return &p
}

var tagType = reflect.TypeFor[cbor.Tag]()

// planner makes the plans of a type and of all types within it.
type planner struct {
	*rules
	known map[reflect.Type]*plan
	item  int64 // the largest memory of an item, and of an element or pair
	each  int64
}

func (r *planner) plan(t reflect.Type) *plan {
	if p, ok := r.known[t]; ok {
		return p
	}
	p := &plan{elem: skipped}
	r.known[t] = p // before its parts, which may lead to t again
	r.parts(t, p)
	r.item = max(r.item, p.item+max(p.list.once, p.dict.once))
	r.each = max(r.each, p.list.each, p.dict.each)
	return p
}

func (r *planner) parts(t reflect.Type, p *plan) {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		p.pointer, p.item, p.elem = true, int64(t.Elem().Size()), r.plan(t.Elem())
	case implementsAny(t, r.readers): // it decodes its items itself
	case k == reflect.Interface, t == tagType:
		*p = *ofAny
	case k == reflect.Slice:
		p.list.each, p.elem = int64(t.Elem().Size()), r.plan(t.Elem())
	case k == reflect.Array:
		p.elem = r.plan(t.Elem())
	case k == reflect.Map:
		p.dict, p.elem = mapOf(int64(t.Key().Size()+t.Elem().Size())+1), r.plan(t.Elem())
	case k == reflect.Struct:
		r.fields(t, p)
	}
}

func (r *planner) fields(t reflect.Type, p *plan) {
	all := fieldsOf(t, r.tags)
	slices.SortFunc(all, func(a, b field) int { return slices.Compare(a.Index, b.Index) })
	p.fields = make(map[string]*plan, len(all))
	embedded := make(map[reflect.Type]bool)
	for _, f := range all {
		name := f.name.text
		if f.name.number {
			name = numberName + name
		}
		p.fields[name] = r.plan(f.Type)
		p.names = append(p.names, name)
		if r.tags.byName {
			p.fold(name)
		}
		in := t
		for _, i := range f.Index {
			if in.Kind() == reflect.Pointer && !embedded[in] {
				embedded[in] = true
				p.dict.once += int64(in.Elem().Size())
			}
			in = structOf(in).Field(i).Type
		}
	}
	p.list.once = p.dict.once
}

// numberName begins the name of a field that is a number.
const numberName = "\x00"

// fold notes the field of a name under its folded name. The first of the same folded name counts.
func (p *plan) fold(name string) {
	if p.folded == nil {
		p.folded = make(map[string]*plan)
	}
	folded := string(appendFolded(nil, []byte(name)))
	if _, taken := p.folded[folded]; !taken {
		p.folded[folded] = p.fields[name]
	}
}

// of returns the plan of the field of a name. JSON matches names in any letter case.
func (p *plan) of(name []byte) *plan {
	if p.fields == nil {
		return p.elem
	}
	if f, ok := p.fields[string(name)]; ok {
		return f
	}
	if len(p.folded) > 0 {
		var room [64]byte
		if f, ok := p.folded[string(appendFolded(room[:0], name))]; ok {
			return f
		}
	}
	return skipped
}

// appendFolded appends a name with the least of the forms that each letter has, as encoding/json
// compares names.
func appendFolded(to, name []byte) []byte {
	for len(name) > 0 {
		r, size := utf8.DecodeRune(name)
		for next := unicode.SimpleFold(r); ; next = unicode.SimpleFold(r) {
			again := next <= r
			if r = next; again {
				break
			}
		}
		to = utf8.AppendRune(to, r)
		name = name[size:]
	}
	return to
}

// at returns the plan of an element of a list, which may be a struct with the option toarray.
func (p *plan) at(i int) *plan {
	switch {
	case p.fields == nil:
		return p.elem
	case i < len(p.names):
		return p.fields[p.names[i]]
	}
	return skipped
}

// bound is the plan of a decoded type, and the most memory that one byte of an encoding can take.
type bound struct {
	*plan
	most int64
}

// bounds keeps one answer for each format and decoded type, as cborTypes does.
var bounds sync.Map // bounded → bound

type bounded struct {
	r *rules
	t reflect.Type
}

func (r *rules) boundOf(t reflect.Type) bound {
	if b, ok := bounds.Load(bounded{r, t}); ok {
		return b.(bound)
	}
	p := planner{r, make(map[reflect.Type]*plan), ofAny.item + ofAny.dict.once, ofAny.dict.each}
	b := bound{plan: p.plan(t)}
	b.most = p.item + p.each
	bounds.Store(bounded{r, t}, b)
	return b
}
