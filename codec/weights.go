package codec

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// weights are the most bytes of memory that each kind of item in an encoding can take when it is
// decoded into a type: the largest of all types within it that such an item can become. They are
// coarse, because an encoding does not say which item becomes which type. They are too high
// rather than too low, and matter only for values near the limit.
type weights struct {
	null, number, text, list, dict int64
	pair                           int64 // of a Go map: a key and its value
	most                           int64 // for one byte of an encoding
}

// A Go map has a header, and room for eight pairs with its first pair. It doubles when it grows,
// so it may have room for twice as many pairs as it holds.
const (
	mapHeader = 48
	mapGroup  = 8
	mapGrowth = 2
)

func (w *weights) of(n tally) int64 {
	return n.nulls*w.null + n.numbers*w.number + n.texts*w.text + n.lists*w.list +
		n.dicts*(w.dict+mapGroup*w.pair) + n.pairs*mapGrowth*w.pair
}

// known keeps one answer for each decoded type, as cborTypes does.
var known sync.Map // reflect.Type → *weights

func weightsOf(t reflect.Type) *weights {
	if w, ok := known.Load(t); ok {
		return w.(*weights)
	}
	w := new(weights)
	w.add(t, make(map[reflect.Type]bool))
	w.most = max(w.null, w.number, w.text, w.list, w.dict+mapGroup*w.pair, mapGrowth*w.pair)
	known.Store(t, w)
	return w
}

// pointed is the size of a pointer to an item.
const pointed = 8

// boxed is the size of an interface that holds an item.
const boxed = 16

var unmarshalers = []reflect.Type{
	reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[cbor.Unmarshaler](),
	reflect.TypeFor[encoding.BinaryUnmarshaler](),
	reflect.TypeFor[encoding.TextUnmarshaler](),
}

// add takes t and all types within it into account.
func (w *weights) add(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	size := int64(t.Size()) + pointed
	if implementsAny(t, unmarshalers) { // it may decode any item
		raise(size, &w.number, &w.text, &w.list, &w.dict)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		w.add(t.Elem(), seen)
	case reflect.Interface:
		w.addInterface()
	case reflect.Slice, reflect.Array:
		w.addList(t, size, seen)
	case reflect.Map:
		raise(size+mapHeader, &w.dict)
		raise(int64(t.Key().Size()+t.Elem().Size())+1, &w.pair)
		w.add(t.Key(), seen)
		w.add(t.Elem(), seen)
	case reflect.Struct:
		raise(size, &w.dict, &w.list) // with the option toarray, a list
		for f := range t.Fields() {
			w.add(f.Type, seen)
		}
	case reflect.String:
		raise(size, &w.text, &w.number) // json.Number takes a number
	default:
		raise(size, &w.number)
	}
}

func (w *weights) addList(t reflect.Type, size int64, seen map[reflect.Type]bool) {
	raise(size, &w.list)
	if t.Elem().Kind() == reflect.Uint8 {
		raise(size, &w.text)
	}
	if t.Kind() == reflect.Slice {
		raise(int64(t.Elem().Size()), &w.null)
	}
	w.add(t.Elem(), seen)
}

// addInterface accounts for what a decoder makes for an any: numbers, strings,
// []any and map[string]any.
func (w *weights) addInterface() {
	raise(boxed, &w.null)
	raise(boxed+8, &w.number)
	raise(boxed+16, &w.text)
	raise(boxed+24, &w.list)
	raise(boxed+mapHeader, &w.dict)
	raise(16+boxed+1, &w.pair)
}

func raise(to int64, ws ...*int64) {
	for _, w := range ws {
		*w = max(*w, to)
	}
}
