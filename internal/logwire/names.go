package logwire

import (
	"encoding/binary"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Names are scopes by their fences. A record carries fences, which have only hashes; its names tell
// listeners what the hashes stand for. A nil Names stays empty. Spelled names are written one after the
// other:
//
//	kind u8: 'k', 'p' or 't' | length uvarint | text
//
// The text of a key or a prefix is its spelling with the tenant, and that of a tag is "tenant:tag".
// A reader skips a kind that it does not know.
type Names map[invalidate.Fence]invalidate.Scope

// Add adds a scope, unless n is nil.
func (n Names) Add(s invalidate.Scope) {
	if n != nil {
		n[s.Fence()] = s
	}
}

// Spell returns the names of the fences, for one record. It leaves out a name that would make the
// text longer than [invalidate.MaxNames].
func (n Names) Spell(fences []invalidate.Fence) string {
	if len(n) == 0 {
		return ""
	}
	var b []byte
	var last invalidate.Fence
	for _, f := range fences {
		f = bare(f)
		if s, ok := n[f]; ok && f != last { // sorted fences that differ in the hold follow each other
			b, last = appendName(b, s), f
		}
	}
	return string(b)
}

// bare returns the fence that the scope itself has.
func bare(f invalidate.Fence) invalidate.Fence {
	f.Soft = false
	return f
}

func appendName(b []byte, s invalidate.Scope) []byte {
	text := s.Text()
	var kind byte
	switch s.Kind() {
	case invalidate.KindKey:
		kind = 'k'
	case invalidate.KindPrefix:
		kind = 'p'
	case invalidate.KindTag:
		kind, text = 't', s.Tenant()+":"+text
	default: // everything has no name
		return b
	}
	whole := binary.AppendUvarint(append(b, kind), uint64(len(text)))
	if len(whole)+len(text) > invalidate.MaxNames {
		return b
	}
	return append(whole, text...)
}

// Read returns the scopes that a record names, and how many of its fences have no name. It ignores
// a name that is not a valid scope, or whose fence is not in the record. A fence of everything
// needs no name. A second fence of a prefix, see [invalidate.Scope.BuiltFence], does not count.
func Read(names string, fences []invalidate.Fence) (scopes []invalidate.Scope, unnamed int) {
	var known map[invalidate.Fence]bool // of the fences that count: has a scope
	if names != "" {
		known = make(map[invalidate.Fence]bool, len(fences))
	}
	for _, f := range fences {
		switch {
		case f.Kind == invalidate.KindPrefix && f.Len == invalidate.BuiltLen:
		case f.Kind == invalidate.KindAll && len(scopes) == 0:
			scopes = []invalidate.Scope{invalidate.All()}
		case f.Kind != invalidate.KindAll:
			unnamed++
			if known != nil {
				known[bare(f)] = false
			}
		}
	}
	for names != "" {
		size, n := binary.Uvarint([]byte(names[1:min(len(names), 1+binary.MaxVarintLen64)]))
		if n <= 0 || size > uint64(len(names)-1-n) {
			break
		}
		end := 1 + n + int(size) //nolint:gosec // is limited
		s := parse(names[0], strings.Clone(names[1+n:end]))
		if taken, ok := known[s.Fence()]; ok && !taken && s.Validate() == nil {
			known[s.Fence()] = true
			scopes = append(scopes, s)
		}
		names = names[end:]
	}
	for _, f := range fences {
		if known[bare(f)] {
			unnamed--
		}
	}
	return scopes, unnamed
}

// parse returns the scope of a name, or an invalid one.
func parse(kind byte, text string) invalidate.Scope {
	tenant, rest, ok := strings.Cut(text, ":")
	switch {
	case kind == 'k':
		if k, err := key.Parse(text); err == nil {
			return invalidate.Key(k)
		}
	case kind == 'p' && ok && rest == "":
		return invalidate.Tenant(tenant)
	case kind == 'p' && ok:
		return invalidate.Prefix(tenant, rest)
	case kind == 't' && ok:
		return invalidate.Tag(tenant, rest)
	}
	return invalidate.Scope{}
}
