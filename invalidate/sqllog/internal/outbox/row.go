// Package outbox spells what the rows of a log's outbox name, and reads it.
package outbox

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// DefaultTable is the name of the table, unless a configuration has another.
const DefaultTable = "twofold_outbox"

// MaxScopes is the most scopes that one row names.
const MaxScopes = 1000

// ErrScope refuses a scope that does not pass Validate.
var ErrScope = errors.New("sqllog: bad scope")

// The kinds of the elements that triggers write, see below.
const (
	KindValue = "v" // a key by its value
	KindEnds  = "w" // a tag that ends in values
)

// A row of the outbox names its scopes in JSON. A trigger, a migration or a person can write one,
// too:
//
//	[["k","default:users:v1:42"],       the full spelling of a key
//	 ["t","default","org:7"],           a tenant and one of its tags
//	 ["p","default","users:v1:"],       a tenant and a prefix after it; "" means all it has
//	 ["a"],                             everything
//
// "k~", "t~", "p~" and "a~" are expiries. Triggers write these, in which a value is a JSON string or integer of a column, or a string with the
// bytes in hexadecimal, in brackets (["6869"] is "hi"):
//
//	 ["v","default","users:v1",42],     a tenant, a namespace and the value of a key
//	 ["v","default","users:v1"],        all keys of the namespace
//	 ["w","default","org:",7],          a tenant, and a tag that ends in values, with colons between them
//	 ["w","default"]]                   all keys of the tenant
//
// With these, only Go spells keys. A value that no cache can have, such as a tag that is too long,
// names nothing. Older readers take such a row for one that does not parse and discard everything
// older, which is safe.

// Texts returns the texts of the rows for the scopes, with at most MaxScopes in each row.
func Texts(scopes []invalidate.Scope) ([]string, error) {
	items := make([][]any, 0, len(scopes))
	for i, s := range scopes {
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("%w: scope %d: %w", ErrScope, i, err)
		}
		switch s.Kind() {
		case invalidate.KindKey:
			items = append(items, []any{"k", s.Text()})
		case invalidate.KindTag:
			items = append(items, []any{"t", s.Tenant(), s.Text()})
		case invalidate.KindPrefix:
			items = append(items, []any{"p", s.Tenant(), wholeCharacters(strings.TrimPrefix(s.Text(), s.Tenant()+":"))})
		case invalidate.KindAll:
			items = append(items, []any{"a"})
		}
	}
	return marshalRows(items)
}

// wholeCharacters cuts a prefix before the first bytes that are not UTF-8, because JSON cannot hold
// them. The shorter prefix covers more.
func wholeCharacters(prefix string) string {
	for !utf8.ValidString(prefix) {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix
}

func marshalRows(items [][]any) (texts []string, err error) {
	for len(items) > 0 {
		n := min(len(items), MaxScopes)
		text, err := json.Marshal(items[:n])
		items = items[n:]
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrScope, err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// Named holds the scopes of one row.
type Named struct {
	Keys   []key.Key
	Whole  []string           // what all keys of a namespace that a trigger names begin with
	Scopes []invalidate.Scope // all others that are invalidated
	Soft   []invalidate.Scope // what only expires, keys included
}

// Parse reads the text of a row. It returns false when any part of it is invalid.
func Parse(text string) (n Named, ok bool) {
	var items [][]any
	read := json.NewDecoder(strings.NewReader(text))
	read.UseNumber() // a float64 would round the largest keys
	if err := read.Decode(&items); err != nil || len(items) == 0 {
		return Named{}, false
	}
	if _, err := read.Token(); !errors.Is(err, io.EOF) {
		return Named{}, false
	}
	for _, item := range items {
		if !n.add(item) {
			return Named{}, false
		}
	}
	return n, true
}

// add adds an item. It returns false if the item is not of one of the forms.
func (n *Named) add(item []any) bool {
	if len(item) == 0 {
		return false
	}
	kind, _ := item[0].(string)
	if hard, soft := strings.CutSuffix(kind, "~"); soft {
		return n.addSoft(hard, item[1:])
	}
	texts, ok := textsOf(item[1:], kind == KindValue || kind == KindEnds)
	switch count := len(texts); {
	case !ok:
	case kind == "a" && count == 0:
		return n.AddScope(invalidate.All())
	case kind == "k" && count == 1:
		k, err := key.Parse(texts[0])
		n.Keys = append(n.Keys, k)
		return err == nil
	case kind == "t" && count == 2:
		return n.AddScope(invalidate.Tag(texts[0], texts[1]))
	case kind == "p" && count == 2 && texts[1] == "":
		return n.AddScope(invalidate.Tenant(texts[0]))
	case kind == "p" && count == 2:
		return n.AddScope(invalidate.Prefix(texts[0], texts[1]))
	case kind == KindValue && count == 3: // the digits of an integer need no escaping
		if k, err := (key.Space{Tenant: texts[0], Namespace: texts[1]}).Key(key.Text(texts[2])); err == nil {
			n.Keys = append(n.Keys, k)
		}
		return true
	case kind == KindValue && count == 2:
		space := key.Space{Tenant: texts[0], Namespace: texts[1]}
		if space.Validate() != nil {
			return true
		}
		n.Whole = append(n.Whole, space.Prefix())
		return n.AddScope(invalidate.Prefix(space.Tenant, space.Namespace+":"))
	case kind == KindEnds && count == 1:
		s := invalidate.Tenant(texts[0])
		return s.Validate() != nil || n.AddScope(s)
	case kind == KindEnds && count > 1:
		s := invalidate.Tag(texts[0], texts[1]+strings.Join(texts[2:], ":"))
		return s.Validate() != nil || n.AddScope(s)
	}
	return false
}

// addSoft adds an item that expires. Triggers write none.
func (n *Named) addSoft(kind string, texts []any) bool {
	var hard Named
	if strings.ContainsAny(kind, KindValue+KindEnds+"~") || !hard.add(append([]any{kind}, texts...)) {
		return false
	}
	for _, k := range hard.Keys {
		n.Soft = append(n.Soft, invalidate.Key(k))
	}
	n.Soft = append(n.Soft, hard.Scopes...)
	return true
}

// textsOf returns the texts of an item. Columns also have integers, but the second text is never that of
// a column.
func textsOf(item []any, columns bool) (texts []string, ok bool) {
	for i, v := range item {
		s, ok := v.(string)
		if hexed, is := v.([]any); is && columns && i != 1 && len(hexed) == 1 {
			s, ok = unhex(hexed[0])
		}
		if number, is := v.(json.Number); is && columns && i != 1 && isInteger(number.String()) {
			s, ok = number.String(), true
		}
		if !ok {
			return nil, false
		}
		texts = append(texts, s)
	}
	return texts, true
}

func unhex(v any) (string, bool) {
	text, _ := v.(string)
	raw, err := hex.DecodeString(text)
	return string(raw), err == nil && text != ""
}

// AddScope adds a scope. It returns false if the scope is not valid.
func (n *Named) AddScope(s invalidate.Scope) bool {
	if s.Validate() != nil {
		return false
	}
	n.Scopes = append(n.Scopes, s)
	return true
}

// isInteger reports whether a JSON number is an integer as Go prints it, of 64 bits.
func isInteger(number string) bool {
	if _, err := strconv.ParseInt(number, 10, 64); err == nil {
		return number != "-0"
	}
	_, err := strconv.ParseUint(number, 10, 64)
	return err == nil
}

// CellScope returns a scope for the sequence of scopes that covers the key: a prefix that is the
// whole spelling of the key. Keys that begin with this spelling are loaded again once.
func CellScope(text string) invalidate.Scope {
	tenant, rest, _ := strings.Cut(text, ":")
	return invalidate.Prefix(tenant, rest)
}
