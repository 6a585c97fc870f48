package sizeof

import (
	"math/bits"
	"reflect"
	"sync"
)

// wordSize is the size of a pointer.
const wordSize = bits.UintSize / 8

// shape says how a walk treats a value.
type shape uint8

const (
	fixed  shape = iota // owns nothing outside the value
	text                // a string
	record              // a struct with fields to walk
	array               // an array of elements to walk
	slice
	dict
	pointer
	box // an interface
)

// plan describes a type without a value. It is immutable once published.
type plan struct {
	shape  shape
	size   int64 // of the value itself
	align  int64
	elem   *plan   // of an array, slice, dict or pointer
	key    *plan   // of a dict
	slot   int64   // dict: bytes per slot
	boxed  int64   // dict: bytes per entry outside the slots
	fields []field // of a record, only those that are not fixed
	cost   int     // expected visits of one such value
}

type field struct {
	index int
	plan  *plan
}

// Expected visits, which determine the number of elements in a sample. A wrong guess makes a sample
// smaller or a branch shallower, never a walk longer.
const (
	manyCost = 16 // a value with its own elements
	boxCost  = 4
	maxCost  = 64
)

// opaque packages: their types hold shared state, or state that may be read only under a lock or by
// atomics.
var opaque = map[string]bool{
	"context": true, "internal/sync": true, "reflect": true, "runtime": true, "sync": true,
	"sync/atomic": true, "time": true, "unique": true, "weak": true,
}

var plans sync.Map // reflect.Type → *plan

// planOf returns the plan of t, and builds it if t is new. Two goroutines may build the same plan;
// either one can be used.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	b := builder{}
	p := b.plan(t)
	for t, p := range b {
		plans.LoadOrStore(t, p)
	}
	return p
}

// builder holds the plans of one type and of all types that it refers to. A plan is added before it
// is filled in, which ends the recursion of a recursive type.
type builder map[reflect.Type]*plan

func (b builder) plan(t reflect.Type) *plan {
	if p, ok := b[t]; ok {
		return p
	}
	p := &plan{size: int64(t.Size()), align: int64(t.Align()), cost: manyCost}
	b[t] = p
	if opaque[t.PkgPath()] {
		return p
	}
	// The shape is set before the parts are visited: a part that refers back must not mistake this
	// type for a fixed one.
	switch t.Kind() {
	case reflect.String:
		p.shape, p.cost = text, 0
	case reflect.Struct:
		p.shape = record
		b.record(p, t)
	case reflect.Array:
		p.shape = array
		b.array(p, t)
	case reflect.Slice:
		p.shape = slice
		p.elem = b.plan(t.Elem())
		if p.elem.shape == fixed {
			p.cost = 0
		}
	case reflect.Map:
		p.shape = dict
		p.key, p.elem = b.plan(t.Key()), b.plan(t.Elem())
		p.slot, p.boxed = mapSlot(p.key, p.elem)
	case reflect.Pointer:
		p.shape = pointer
		p.elem = b.plan(t.Elem())
		p.cost = min(1+p.elem.cost, maxCost)
	case reflect.Interface:
		p.shape, p.cost = box, boxCost
	default: // numbers, channels, functions: fixed, or counted as such
	}
	return p
}

// array fills in the plan of an array, which is fixed when its elements are.
func (b builder) array(p *plan, t reflect.Type) {
	p.elem = b.plan(t.Elem())
	if p.elem.shape == fixed || t.Len() == 0 {
		p.shape = fixed
		return
	}
	p.cost = min(t.Len(), maxCost) * (1 + p.elem.cost)
	p.cost = min(p.cost, maxCost)
}

// record fills in the plan of a struct. It keeps only fields that are not fixed.
func (b builder) record(p *plan, t reflect.Type) {
	cost := 0
	for i := range t.NumField() {
		if f := b.plan(t.Field(i).Type); f.shape != fixed {
			p.fields = append(p.fields, field{index: i, plan: f})
			cost += f.cost
		}
	}
	p.cost = min(cost, maxCost)
	if len(p.fields) == 0 {
		p.shape = fixed
	}
}

// cyclic reports whether a value of the type could reach itself. An interface can hold anything, so
// it counts as cyclic.
func (p *plan) cyclic() bool {
	const open, done = 1, 2
	state := map[*plan]int{}
	var visit func(*plan) bool
	visit = func(p *plan) bool {
		switch {
		case p == nil || state[p] == done:
			return false
		case p.shape == box || state[p] == open:
			return true
		}
		state[p] = open
		for _, f := range p.fields {
			if visit(f.plan) {
				return true
			}
		}
		found := visit(p.key) || visit(p.elem)
		state[p] = done
		return found
	}
	return visit(p)
}
