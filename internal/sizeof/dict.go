package sizeof

import "reflect"

// dict visits a map. The runtime starts an iteration at a random place, so the
// first k entries are a fair sample.
func (w *walker) dict(p *plan, v reflect.Value) {
	walk := p.key.shape != fixed || p.elem.shape != fixed
	if v.IsNil() || walk && w.putOff(p, v) || !w.first(p, v) {
		return
	}
	w.add(mapBlocks(p, int64(v.Len())))
	if !walk {
		return
	}
	k, restore := w.sample(p.key.cost+p.elem.cost, v.Len())
	if k == 0 {
		return
	}
	it := v.MapRange()
	key, elem := scratch(p.key, v, v.Type().Key()), scratch(p.elem, v, v.Type().Elem())
	w.depth++
	for i := 0; i < k && it.Next(); i++ {
		w.share(k-i, func() {
			w.left-- // an entry costs a visit; its strings cost none
			if p.key.shape != fixed {
				w.visit(p.key, entryKey(it, key))
			}
			if p.elem.shape != fixed {
				w.visit(p.elem, entryElem(it, elem))
			}
		})
	}
	w.depth--
	w.weight = restore
}

func entryKey(it *reflect.MapIter, scratch reflect.Value) reflect.Value {
	if !scratch.IsValid() {
		return it.Key()
	}
	scratch.SetIterKey(it)
	return scratch
}

func entryElem(it *reflect.MapIter, scratch reflect.Value) reflect.Value {
	if !scratch.IsValid() {
		return it.Value()
	}
	scratch.SetIterValue(it)
	return scratch
}

// scratch returns a place to read strings into. With it, a map of strings is walked without an
// allocation per entry. Reflection cannot write there from an unexported field. Values of other
// shapes are copied, because a visit may be postponed until after the next entry.
func scratch(part *plan, m reflect.Value, t reflect.Type) reflect.Value {
	if part.shape != text || !m.CanInterface() {
		return reflect.Value{}
	}
	return reflect.New(t).Elem()
}
