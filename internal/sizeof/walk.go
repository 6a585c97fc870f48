package sizeof

import "reflect"

// walker measures one value.
type walker struct {
	total  float64 // bytes found; a whole number unless something was sampled
	weight float64 // how many elements the current one represents
	left   int     // visits that this branch may still make
	depth  int
	seen   map[block]struct{} // nil when the type cannot be cyclic
	later  []deferred         // parts that were too deep, or beyond the visits of their branch
	last   bool               // no visits are left: count blocks without following pointers
}

// block is a piece of memory that was counted. It includes the type, because a struct and its first
// field have the same address.
type block struct {
	addr uintptr
	plan *plan
}

type deferred struct {
	plan   *plan
	value  reflect.Value
	weight float64
}

// run visits v and then the parts that were postponed. Those share the visits that the branches did
// not use.
func (w *walker) run(p *plan, v reflect.Value) {
	w.visit(p, v)
	for len(w.later) > 0 {
		d := w.later[0]
		w.later = w.later[1:]
		w.depth, w.weight, w.last = 0, d.weight, w.left <= 0
		w.share(len(w.later)+1, func() { w.visit(d.plan, d.value) })
	}
}

// visit adds the memory behind v; v itself is already counted.
func (w *walker) visit(p *plan, v reflect.Value) {
	switch p.shape {
	case fixed:
	case text:
		w.add(heapBlock(int64(v.Len())))
	case record:
		w.record(p, v)
	case array:
		w.elements(p.elem, v)
	case slice:
		w.slice(p, v)
	case dict:
		w.dict(p, v)
	case pointer:
		w.pointer(p, v)
	case box:
		w.box(v)
	}
}

func (w *walker) add(n int64) { w.total += w.weight * float64(n) }

// first reports whether the block that v refers to has not been counted yet.
func (w *walker) first(p *plan, v reflect.Value) bool {
	if w.seen == nil {
		return true
	}
	b := block{addr: v.Pointer(), plan: p}
	if _, ok := w.seen[b]; ok {
		return false
	}
	w.seen[b] = struct{}{}
	return true
}

// descend visits v one level deeper, which costs a visit.
func (w *walker) descend(p *plan, v reflect.Value) {
	if w.last || w.putOff(p, v) {
		return
	}
	w.left--
	w.depth++
	w.visit(p, v)
	w.depth--
}

// putOff leaves v for later if this branch has no visits left or is too deep.
func (w *walker) putOff(p *plan, v reflect.Value) bool {
	if w.last || w.left > 0 && w.depth < maxDepth {
		return false
	}
	w.later = append(w.later, deferred{plan: p, value: v, weight: w.weight})
	return true
}

// share runs visit with one n-th of the visits left. Unused visits remain for the other branches,
// so one big branch cannot starve those after it.
func (w *walker) share(n int, visit func()) {
	budget := w.left
	part := (budget + n - 1) / n
	w.left = part
	visit()
	w.left += budget - part
}

func (w *walker) record(p *plan, v reflect.Value) {
	for i, f := range p.fields {
		w.share(len(p.fields)-i, func() { w.visit(f.plan, v.Field(f.index)) })
	}
}

func (w *walker) slice(p *plan, v reflect.Value) {
	walk := p.elem.shape != fixed
	if v.Cap() == 0 || walk && w.putOff(p, v) || !w.first(p, v) {
		return
	}
	w.add(heapBlock(mulCapped(int64(v.Cap()), p.elem.size)))
	if walk {
		w.elements(p.elem, v)
	}
}

// elements visits the elements of a slice or an array, or an even sample of them.
func (w *walker) elements(p *plan, v reflect.Value) {
	n := v.Len()
	k, restore := w.sample(p.cost, n)
	for i := range k {
		// Sample i represents the n-th share that begins here. i*n cannot overflow, because k is at
		// most the budget.
		at := v.Index(int(int64(i) * int64(n) / int64(k)))
		w.share(k-i, func() { w.descend(p, at) })
	}
	w.weight = restore
}

// sample returns how many of n elements to visit if each is expected to take cost more visits. It
// raises the weight accordingly and returns the weight to restore. Expensive elements make small
// samples, which reach the leaves.
func (w *walker) sample(cost, n int) (k int, restore float64) {
	restore = w.weight
	if w.left <= 0 || n == 0 {
		return 0, restore
	}
	k = min(n, max(1, w.left/(1+cost)))
	w.weight *= float64(n) / float64(k)
	return k, restore
}

func (w *walker) pointer(p *plan, v reflect.Value) {
	if v.IsNil() || !w.first(p, v) {
		return
	}
	w.add(heapBlock(p.elem.size))
	if p.elem.shape != fixed {
		w.descend(p.elem, v.Elem())
	}
}

// box visits the value in an interface. A value that is not a pointer has its own block.
func (w *walker) box(v reflect.Value) {
	if v.IsNil() {
		return
	}
	e := v.Elem()
	p := planOf(e.Type())
	switch e.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
	default:
		w.add(heapBlock(p.size))
	}
	if p.shape != fixed {
		w.descend(p, e)
	}
}

// mulCapped returns a*b without overflow, for slices that contain themselves.
func mulCapped(a, b int64) int64 {
	if b != 0 && a > maxSize/b {
		return maxSize
	}
	return a * b
}
