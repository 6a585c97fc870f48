package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/resident"
)

// A run belongs to the goroutine of its party. Other goroutines have the flight, contexts, and a
// load's hook and handle. None of these may refer to the run, or that goroutine could read a
// field while the party writes it.
func TestLateCannotReachARun(t *testing.T) {
	owned := reachable(
		reflect.TypeFor[late](), reflect.TypeFor[flight](), reflect.TypeFor[resident.Fill](),
		reflect.TypeFor[outcome](), reflect.TypeFor[calls.Scope](), reflect.TypeFor[calls.Deadline](),
		reflect.TypeFor[countdown](), reflect.TypeFor[Ask](),
	)
	if len(owned) < 20 {
		t.Fatalf("only %d types were reached, want at least 20: the walk is broken", len(owned))
	}
	for typ := range owned {
		if typ == reflect.TypeFor[run]() || typ == reflect.TypeFor[party]() {
			t.Errorf("%v is reachable", typ)
		}
	}
	// The control: the walk finds the runs of a party.
	if !reachable(reflect.TypeFor[party]())[reflect.TypeFor[run]()] {
		t.Error("the walk does not find a party's runs")
	}
}

// A run is copied from party to party, so it must not contain a lock.
func TestRunHoldsNoLock(t *testing.T) {
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		if strings.HasPrefix(typ.PkgPath(), "sync") {
			t.Errorf("a run contains a %v", typ)
		}
		if typ.Kind() == reflect.Struct {
			for f := range typ.Fields() {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[run]())
}

// reachable returns the types that are reachable from some types.
func reachable(from ...reflect.Type) map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	for len(from) > 0 {
		t := from[len(from)-1]
		from = from[:len(from)-1]
		if found[t] {
			continue
		}
		found[t] = true
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				from = append(from, f.Type)
			}
		case reflect.Map:
			from = append(from, t.Key(), t.Elem())
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			from = append(from, t.Elem())
		}
	}
	return found
}
