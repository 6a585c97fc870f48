package resident

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/twofold-go/twofold/key"
)

// A record of the log carries the text of a key. For strings and integers, the key and so its address in the local
// tier can be found from that.

// Spells reports whether EndKey finds entries. It implements [fence.Owner].
func (v *View) Spells() bool {
	k := v.keyType.Kind()
	return k == reflect.String || reflect.Int <= k && k <= reflect.Uintptr
}

// blanks returns a pool of entries that hold no key yet. item is their type, with the entry in its field e.
func blanks(item reflect.Type) *sync.Pool {
	return &sync.Pool{New: func() any {
		return (*Entry)(reflect.New(item).Elem().FieldByName("e").Addr().UnsafePointer())
	}}
}

// slotOf returns the address of the view's key with an id; false: no key has it.
func (v *View) slotOf(id string) (at uint64, ok bool) {
	e := v.blanks.Get().(*Entry)
	defer v.blanks.Put(e)
	k := reflect.ValueOf(v.Kind.Key(e)).Elem()
	defer k.SetZero()
	if !setKey(k, id) {
		return 0, false
	}
	e.Home = &v.Home
	defer func() { e.Home = nil }()
	return v.Kind.Slot(e), true
}

// setKey sets k to the key that has an id, and reports whether there is one.
func setKey(k reflect.Value, id string) bool {
	var memory [24]byte
	switch {
	case k.Kind() == reflect.String:
		text, err := key.Unescape(id)
		k.SetString(text)
		return err == nil
	case k.CanInt():
		n, err := strconv.ParseInt(id, 10, k.Type().Bits())
		k.SetInt(n)
		return err == nil && string(strconv.AppendInt(memory[:0], n, 10)) == id
	case k.CanUint():
		n, err := strconv.ParseUint(id, 10, k.Type().Bits())
		k.SetUint(n)
		return err == nil && string(strconv.AppendUint(memory[:0], n, 10)) == id
	}
	return false
}
