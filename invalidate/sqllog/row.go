package sqllog

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// A row of the outbox names its scopes in JSON, so that a trigger, a migration or a person can
// write one, too:
//
//	[["k","default:users:v1:42"],       the full spelling of a key
//	 ["t","default","org:7"],           a tenant and one of its tags
//	 ["p","default","users:v1:"],       a tenant and a prefix after it; "": all it has
//	 ["a"],                             everything
//	 ["h",5000]]                        nothing named here is cached for so many ms

// rowTexts returns the texts of the rows for the scopes, with at most rowScopes in each row.
func rowTexts(scopes []invalidate.Scope) ([]string, error) {
	var hold time.Duration
	items := make([][]any, 0, len(scopes)+1)
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
		default:
			if s == invalidate.Strict {
				return nil, fmt.Errorf("%w: scope %d is Strict, and nothing has committed yet: call Tiers.Settle after COMMIT", ErrScope, i)
			}
			hold = max(hold, s.Fence().Hold)
		}
	}
	return marshalRows(items, hold)
}

// wholeCharacters cuts a prefix before the first bytes that are not UTF-8, because JSON cannot hold
// them. The shorter prefix covers more.
func wholeCharacters(prefix string) string {
	for !utf8.ValidString(prefix) {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix
}

func marshalRows(items [][]any, hold time.Duration) (texts []string, err error) {
	for len(items) > 0 {
		n := min(len(items), rowScopes)
		row := items[:n:n]
		items = items[n:]
		if hold > 0 {
			row = append(row, []any{"h", hold.Milliseconds()})
		}
		text, err := json.Marshal(row)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrScope, err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// named holds the scopes of one row.
type named struct {
	keys   []string           // full spellings
	scopes []invalidate.Fence // the fences of all other scopes
	hold   time.Duration      // also in scopes
}

// parseRow reads the text of a row. It returns false when any part of it is invalid.
func parseRow(text string) (n named, ok bool) {
	var items [][]any
	if err := json.Unmarshal([]byte(text), &items); err != nil || len(items) == 0 {
		return named{}, false
	}
	for _, item := range items {
		if !n.add(item) {
			return named{}, false
		}
	}
	for i := range n.scopes {
		n.scopes[i].Hold = n.hold
	}
	return n, true
}

func (n *named) add(item []any) bool {
	if len(item) == 0 {
		return false
	}
	kind, _ := item[0].(string)
	if kind == "h" {
		return len(item) == 2 && n.addHold(item[1])
	}
	var text [2]string
	for i, v := range item[1:] {
		s, ok := v.(string)
		if !ok || i == len(text) {
			return false
		}
		text[i] = s
	}
	switch {
	case kind == "k" && len(item) == 2:
		n.keys = append(n.keys, text[0])
		_, err := key.Parse(text[0])
		return err == nil
	case kind == "t" && len(item) == 3:
		return n.addScope(invalidate.Tag(text[0], text[1]))
	case kind == "p" && len(item) == 3 && text[1] == "":
		return n.addScope(invalidate.Tenant(text[0]))
	case kind == "p" && len(item) == 3:
		return n.addScope(invalidate.Prefix(text[0], text[1]))
	case kind == "a" && len(item) == 1:
		return n.addScope(invalidate.All())
	}
	return false
}

func (n *named) addScope(s invalidate.Scope) bool {
	if s.Validate() != nil {
		return false
	}
	n.scopes = append(n.scopes, s.Fence())
	return true
}

func (n *named) addHold(v any) bool {
	ms, ok := v.(float64)
	if !ok || ms < 1 || ms > float64(invalidate.MaxHold/time.Millisecond) {
		return false
	}
	n.hold = max(n.hold, time.Duration(ms)*time.Millisecond)
	return true
}

// keyFence returns the fence of a key by its spelling.
func keyFence(text string, hold time.Duration) invalidate.Fence {
	return invalidate.Fence{Kind: invalidate.KindKey, Hash: xxhash.Sum64String(text), Hold: hold}
}

// cellFence returns a fence for the sequence of scopes that covers the key: a prefix that is the
// whole spelling of the key. Keys that begin with this spelling are loaded again once.
func cellFence(text string, hold time.Duration) invalidate.Fence {
	return invalidate.Fence{Kind: invalidate.KindPrefix, Hash: xxhash.Sum64String(text), Len: len(text), Hold: hold}
}
