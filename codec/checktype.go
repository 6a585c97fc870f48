package codec

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
)

type checking struct {
	*rules
	seen    map[place]bool
	entered bool // a struct; its name begins the paths
	faults  []TypeFault
}

// place is a type, and whether the encoder finds methods of *t there.
type place struct {
	t    reflect.Type
	addr bool
}

func (c *checking) fault(t reflect.Type, path, reason string, args ...any) {
	c.faults = append(c.faults, TypeFault{path, t, fmt.Sprintf(reason, args...)})
}

func (c *checking) check(p place, path string) {
	if c.seen[p] {
		return
	}
	c.seen[p] = true
	if c.marshalsItself(p, path) {
		return
	}
	switch t, k := p.t, p.t.Kind(); k {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128, reflect.Uintptr:
		c.fault(t, path, "is a %v, which has no encoding", k)
	case reflect.Interface:
		c.fault(t, path, "is an interface: decoding loses its dynamic type, and the type and the digits of a number")
	case reflect.Pointer:
		c.check(place{t.Elem(), true}, path)
	case reflect.Slice:
		c.check(place{t.Elem(), true}, path+"[]")
	case reflect.Array:
		c.check(place{t.Elem(), p.addr}, path+"[]")
	case reflect.Map:
		c.checkKey(t.Key(), path+"[key]")
		c.check(place{t.Elem(), c.addressed}, path+"[]")
	case reflect.Struct:
		if !c.entered {
			path = typeName(t)
		}
		c.entered = true
		c.checkFields(p, path, make(map[any]bool))
	}
}

// marshalsItself reports whether the check ends here, because t has a method to marshal itself.
func (c *checking) marshalsItself(p place, path string) bool {
	for _, way := range c.own {
		to := reflect.PointerTo(p.t)
		switch {
		case p.t.Kind() == reflect.Pointer || p.t.Kind() == reflect.Interface || !to.Implements(way.encoder):
			continue
		case !p.addr && !p.t.Implements(way.encoder):
			c.fault(p.t, path, "has a Marshal%s of its pointer, which %s does not call for a value at this place: "+
				"give it a value receiver, or use a pointer", way.name, c.codec.ID())
		case !to.Implements(way.decoder) && !to.Implements(c.own[0].decoder):
			c.fault(p.t, path, "has Marshal%s without Unmarshal%[1]s", way.name)
		default:
			if name := c.leftOut(p.t, way); name != "" {
				c.fault(p.t, path, "marshals itself by the Marshal%s of what it embeds, which leaves out %s", way.name, name)
			}
		}
		return true
	}
	return false
}

// leftOut returns a field of a struct that inherits the method of an embedded field, which does not
// see the others, or "". The method returns the same for the zero values of both then.
func (c *checking) leftOut(t reflect.Type, way ownWay) (name string) {
	inherits := false
	defer func() {
		if recover() != nil || !inherits { // the method may panic for a zero value
			name = ""
		}
	}()
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if f := t.Field(i); f.Anonymous && implementsAny(f.Type, []reflect.Type{way.encoder}) {
			whole, _ := way.marshal(reflect.New(t).Interface())
			part, _ := way.marshal(reflect.New(structOf(f.Type)).Interface())
			inherits = inherits || bytes.Equal(whole, part)
		} else if f.Name != "_" && f.Type.Size() > 0 && c.tag(f.Tag) != "-" {
			name = f.Name
		}
	}
	return name
}

func (c *checking) checkKey(t reflect.Type, path string) {
	writes, reads := t.Implements(textWay.encoder), reflect.PointerTo(t).Implements(textWay.decoder)
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Time]():
		c.fault(t, path, "is a time in a key of a map: unequal keys can be one instant, and come back as one key: use its UnixNano")
	case k == reflect.Pointer || k == reflect.Interface:
		c.fault(t, path, "is a %v as the key of a map, which comes back as another key", k)
	case c.codec == CBOR, writes && reads:
		c.check(place{t, c.addressed}, path)
	case writes && k != reflect.String:
		c.fault(t, path, "has MarshalText without UnmarshalText")
	case k != reflect.String && (reads || k < reflect.Int || k > reflect.Uint64):
		c.fault(t, path, "cannot be spelled as the name of a JSON object: give it MarshalText and UnmarshalText")
	}
}

// checkFields checks a struct and what it embeds, whose fields share names in the encoding.
func (c *checking) checkFields(p place, path string, taken map[any]bool) {
	var embedded []reflect.StructField
	for f := range p.t.Fields() {
		tag, in := c.tag(f.Tag), path+"."+f.Name
		name, options, _ := strings.Cut(tag, ",")
		inline := f.Anonymous && name == "" && structOf(f.Type).Kind() == reflect.Struct
		id := [2]any{cmp.Or(name, f.Name), strings.Contains(options, "keyasint")}
		if inline {
			id[0] = structOf(f.Type)
		}
		switch {
		case f.Name == "_" || f.Type.Size() == 0 || tag == "-" && !f.IsExported(): // only its package knows it
		case tag == "-":
			c.fault(f.Type, in, `is left out by its tag "-"`)
		case inline && f.Type.Kind() == reflect.Pointer && !f.IsExported():
			c.fault(f.Type, in, "is an embedded pointer to an unexported type, which no decoder can set: embed the struct")
		case !inline && !f.IsExported():
			c.fault(f.Type, in, "is unexported and is left out")
		case taken[id]:
			c.fault(f.Type, in, "is hidden behind another field of its name in the encoding")
		case inline:
			embedded = append(embedded, f)
			taken[id] = true
		default:
			taken[id] = true
			c.check(place{f.Type, p.addr}, in)
		}
	}
	for _, f := range embedded {
		c.checkFields(place{structOf(f.Type), p.addr || f.Type.Kind() == reflect.Pointer}, path+"."+f.Name, taken)
	}
}
