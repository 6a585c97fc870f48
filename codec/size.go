package codec

// items reads the items of an encoding, one after another. It need not detect invalid data: the
// decoder does so before it allocates memory.
type items interface {
	// next reads an item, or the start of a list or a dict. For formats that announce it, left is
	// the number of elements or pairs.
	next() (k itemKind, left int)

	// more reports whether the list or dict that was started last has another element or pair, with
	// left of those that were announced. Otherwise it reads its end.
	more(left int) bool

	// name reads the name of a pair, and returns it if it is wanted.
	name(wanted bool) []byte
}

type itemKind uint8

const (
	null itemKind = iota
	scalar
	list
	dict
)

// sizer adds up the memory that a decoder takes for an encoding. It counts an item that does not
// fit its place, too: a decoder makes the element of a slice, or what a pointer points to, before
// it looks at the item, and reports the error after all the others.
type sizer struct {
	items
	bytes, most int64 // it stops above most
}

func (s *sizer) value(p *plan) {
	kind, left := s.next()
	for ; p.pointer && kind != null && s.bytes <= s.most; p = p.elem {
		s.bytes += p.item
	}
	switch kind {
	case scalar:
		s.bytes += p.item
	case list:
		s.bytes += p.item + p.list.once
		for i := 0; s.bytes <= s.most && s.more(left-i); i++ {
			s.bytes += p.list.each
			s.value(p.at(i))
		}
	case dict:
		s.bytes += p.item + p.dict.once
		for ; s.bytes <= s.most && s.more(left); left-- {
			s.bytes += p.dict.each
			s.value(p.of(s.name(p.fields != nil)))
		}
	case null:
	}
}
