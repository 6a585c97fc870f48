package cache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func (p *player) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	must(p.T, err)
	return d
}

func (p *player) number(text string) int {
	n, err := strconv.Atoi(text)
	must(p.T, err)
	return n
}

// batched checks how many keys each LoadMany got since the last step of this kind.
func (p *player) batched(want string) {
	p.src.set(func(s *source) {
		slices.SortFunc(s.batches, func(a, b []int) int { return len(b) - len(a) })
		var got []string
		for _, keys := range s.batches {
			got = append(got, strconv.Itoa(len(keys)))
		}
		if s.batches = nil; want != "any" && strings.Join(got, " ") != want {
			p.Errorf("LoadMany got %v keys, want %s", got, want)
		}
	})
}

func (p *player) source(how string) {
	p.src.set(func(s *source) {
		switch how {
		case "fails":
			if s.err = errSource; p.err != nil {
				s.err = p.err
			}
		case "absent":
			s.err = cache.ErrNotFound
		case "declines":
			s.err = fmt.Errorf("not for you: %w", cache.ErrDeclined)
		case "well":
			s.err = nil
		case "unchanged", "changed":
			s.unchanged = how == "unchanged"
		case "empty", "full":
			s.empty = how == "empty"
		case "panics", "exits", "deaf", "calm":
			s.panics, s.exits, s.deaf = how == "panics", how == "exits", how == "deaf"
		default:
			if v, ok := strings.CutPrefix(how, "is="); ok {
				s.fixed = v
				break
			}
			s.took = p.duration(strings.TrimPrefix(how, "takes="))
		}
	})
}

// says makes each load set its lifetime, field by field in this order, or NoStore.
func (p *player) says(words []string) {
	p.src.set(func(s *source) {
		s.say = func(f *cache.Fill) {
			for _, word := range words {
				if word == "nostore" {
					f.NoStore()
					continue
				}
				name, value, _ := strings.Cut(word, "=")
				var l cache.Lifetime
				*map[string]**time.Duration{"ttl": &l.TTL, "stale": &l.Stale, "iferror": &l.StaleIfError, "keep": &l.Keep}[name] = new(p.duration(value))
				f.SetLifetime(l)
			}
		}
	})
}

// opsOf are the operations that a fault can name; it harms all if it names none.
var opsOf = map[string][]tiertest.Op{
	"get": {tiertest.Get}, "claim": {tiertest.Claim}, "fill": {tiertest.Fill},
}

// fault harms the links of both processes or of one, or heals them.
func (p *player) fault(words []string) {
	for i, name := range []string{"a's", "b's"} {
		if words[0] != name && len(words) != 2 {
			continue
		}
		wire, link := p.wire[i], p.link[i]
		how, value, _ := strings.Cut(words[len(words)-1], "=")
		do := map[string]func(){
			"remote fails": func() { wire.Fail(errDown, opsOf[value]...) }, "remote well": wire.Heal, "remote works": func() { wire.Fail(nil, opsOf[value]...) },
			"remote loses": func() { wire.LoseClaims(true) }, "remote empties": func() { must(p.T, tiercall.Remove(p.Context(), p.memory, cell1)) },
			"remote bars":    func() { wire.FailKeys(errDown, keyScope(p.T, p.number(value)).Text()) },
			"remote slow":    func() { wire.Delay(p.duration(value)) },
			"remote hangs":   func() { wire.Hang(true, opsOf[value]...) },
			"remote drops":   func() { wire.DropFills(true) },
			"remote forgets": func() { wire.LoseFills(true) },
			"remote corrupt": func() { wire.Corrupt(p.harm) },
			"remote claims": func() {
				_, err := tiercall.Claim(p.Context(), p.memory, cell1, tier.Claim{Nonce: tier.NewNonce(), Lease: p.duration(value)})
				must(p.T, err)
			},
			"remote gets":  func() { wire.Delay(p.duration(value), tiertest.Get) },
			"remote fills": func() { wire.Delay(p.duration(value), tiertest.Fill) },
			"log trims":    func() { p.log.Trim(1) }, "log restarts": p.log.Restart, "log ends": func() { p.log.Delete() },
			"log fails": func() { link.Fail(errDown) }, "log hangs": func() { link.Hang(true) }, "log well": link.Heal,
			"log slow": func() { link.Delay(p.duration(value)) },
		}[words[len(words)-2]+" "+how]
		if do == nil {
			p.Fatalf("no step is called %q", words)
		}
		do()
	}
}

// step is one call of a process.
type step struct {
	words []string
	ctx   context.Context // of the call
	key   int
	opts  []cache.Option
	age   *time.Duration
	left  *time.Duration // FreshFor of the result
	code  string         // of a remembered error
	bare  bool           // the remembered error is that of another process
	rest  []string       // what is no option
}

// each returns the words for each key of a range.
func each(words []string) (all [][]string) {
	for i, word := range words {
		from, to, ok := strings.Cut(strings.TrimPrefix(word, "key="), "-")
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if ok && err == nil && err2 == nil && strings.HasPrefix(word, "key=") {
			for k := first; k <= last; k++ {
				one := slices.Clone(words)
				one[i] = "key=" + strconv.Itoa(k)
				all = append(all, one)
			}
			return all
		}
	}
	return [][]string{words}
}

// parse returns the step of some words, and a function that ends its context.
func (p *player) parse(ctx context.Context, words []string) (s *step, end func()) {
	s = &step{words: words, key: 1}
	s.ctx, end = context.WithCancel(ctx)
	for _, word := range words[2:] {
		name, value, option := strings.Cut(word, "=")
		switch {
		case name == "key" && option: // not the scope
			s.key = p.number(value)
		case name == "TTL":
			s.opts = append(s.opts, cache.TTL(p.duration(value)))
		case name == "MaxAge":
			s.opts = append(s.opts, cache.MaxAge(p.duration(value)))
		case name == "Fresh":
			s.opts = append(s.opts, cache.Fresh())
		case name == "SkipLocal":
			s.opts = append(s.opts, cache.SkipLocal())
		case name == "SkipRemote":
			s.opts = append(s.opts, cache.SkipRemote())
		case name == "With":
			s.opts = append(s.opts, cache.With(patch{TTL: new(p.duration(value))}))
		case name == "own":
			s.opts = append(s.opts, cache.With(p.own))
		case name == "code":
			s.code = value
		case name == "bare":
			s.bare = true
		case name == "age":
			s.age = new(p.duration(value))
		case name == "fresh" && option:
			s.left = new(p.duration(value))
		case name == "ended":
			end()
		case name == "after":
			time.AfterFunc(p.duration(value), end)
		case name == "timeout":
			s.ctx, end = context.WithTimeout(ctx, p.duration(value))
		case name == "overdue":
			s.ctx, end = context.WithDeadline(ctx, time.Now())
		default:
			s.rest = append(s.rest, word)
		}
	}
	return s, end
}

// scopes returns the scopes that the step names, or its key.
func (p *player) scopes(s *step) []invalidate.Scope {
	scope := keyScope(p.T, s.key)
	if len(s.rest) > 0 {
		named := scopes(p.T)
		named["another-tag"], named["another-tenant"] = invalidate.Tag(cache.DefaultTenant, "T"), invalidate.Tenant("acme")
		if prefix, ok := strings.CutPrefix(s.rest[0], "prefix="); ok {
			named[s.rest[0]] = invalidate.Prefix(cache.DefaultTenant, prefix)
		}
		if other, ok := named[s.rest[0]]; ok {
			scope, s.rest = other, s.rest[1:]
		}
	}
	return []invalidate.Scope{scope}
}

// call makes one call of a process.
func (p *player) call(ctx context.Context, words []string) {
	p.Helper()
	i := slices.Index([]string{"a", "b"}, words[0])
	c, tiers := p.c[i], p.tiers[i]
	switch words[1] {
	case "audits":
		want := cache.Audits{}
		for _, word := range words[2:] {
			name, value, _ := strings.Cut(word, "=")
			reflect.ValueOf(&want).Elem().FieldByName(name).SetInt(int64(p.number(value)))
		}
		equal(p.T, tiers.Stats().Audits, want, "audits")
		return
	case "counts":
		p.counts(tiers, words[2:])
		return
	case "calls":
		if n := p.wire[i].Calls(); words[2] != "any" && n != p.number(words[2]) {
			p.Errorf("%d calls to the remote tier, want %s", n, words[2])
		}
		p.wire[i].ResetCalls()
		return
	case "breaker":
		if s := tiers.Stats().Remote.Breaker; s != words[2] {
			p.Errorf("the breaker is %s, want %s", s, words[2])
		}
		return
	}
	s, end := p.parse(ctx, words)
	defer end()
	defer func() {
		if x := recover(); x != nil {
			pe, ok := x.(*cache.PanicError)
			if !ok || !slices.Contains(s.rest, "panic") || !errors.Is(pe, errSource) || !strings.Contains(string(pe.Stack), "panicHere") {
				p.Errorf("%s: panic %v", strings.Join(words, " "), x)
			}
		}
	}()
	switch words[1] {
	case "closes":
		p.wrote(s, tiers.Close(s.ctx))
	case "readies":
		p.wrote(s, tiers.Ready(s.ctx))
	case "restarts":
		p.start(i)
		p.build(i)
	case "gets":
		r, err := c.Fetch(s.ctx, s.key, nil, s.opts...)
		p.check(s, r, err)
	case "page":
		r, err := p.built[i].Fetch(s.ctx, s.key, nil, s.opts...)
		p.check(s, r, err)
	case "many":
		p.many(s, c)
	case "peeks":
		if v, ok := c.Peek(s.ctx, s.key); ok != (s.rest[0] != "nothing") || ok && !isValue(v, s.rest[0]) {
			p.Errorf("%s: %q, %v", strings.Join(words, " "), v, ok)
		}
	case "sets":
		v := s.rest[0]
		s.rest = s.rest[1:]
		p.wrote(s, c.Set(s.ctx, s.key, v, s.opts...))
	case "deletes":
		if slices.Contains(s.rest, "all") {
			p.wrote(s, c.DeleteAll(s.ctx))
			break
		}
		p.wrote(s, c.Delete(s.ctx, s.key))
	case "batches":
		from, to, _ := strings.Cut(s.rest[0], "-")
		keys := ints(p.number(from), p.number(to)+1)
		m, err := c.GetMany(s.ctx, keys, s.opts...)
		if len(m) != len(keys) || err != nil {
			p.Errorf("%s: %d values, %v", strings.Join(words, " "), len(m), err)
		}
	case "settles":
		p.wrote(s, tiers.Settle(s.ctx))
	case "sets-many":
		p.wrote(s, c.SetMany(s.ctx, map[int]string{s.key: "set", s.key + 1: "set"}, s.opts...))
	case "deletes-many":
		p.wrote(s, c.DeleteMany(s.ctx, []int{s.key, s.key + 1}))
	case "refreshes":
		p.wrote(s, c.Refresh(s.ctx, s.key))
	case "expires":
		if len(s.rest) == 0 {
			p.wrote(s, c.Expire(s.ctx, s.key))
			break
		}
		p.wrote(s, tiers.Expire(s.ctx, p.scopes(s)...))
	case "invalidates":
		p.wrote(s, tiers.Invalidate(s.ctx, p.scopes(s)...))
	default:
		p.Fatalf("no step is called %q", words)
	}
}

// wrote checks the error of a write.
func (p *player) wrote(s *step, err error) {
	p.Helper()
	if slices.Contains(s.rest, "maybe") {
		return
	}
	var want []error // all of them
	for _, word := range s.rest {
		if fault := faults[word]; fault != nil {
			want = append(want, fault)
		} else if !slices.Contains([]string{"all", "perhaps", "stale"}, word) {
			p.Fatalf("%s: unknown word %q", strings.Join(s.words, " "), word)
		}
	}
	op, known := map[string]string{"sets": "set", "deletes": "delete", "expires": "expire", "refreshes": "refresh", "gets": "get"}[s.words[1]]
	if e, ok := errors.AsType[*cache.Error](err); err != nil && known && !strings.HasPrefix(e.Op, op) || err != nil && s.words[1] != "closes" && !ok {
		p.Errorf("%s: %v is of %q", strings.Join(s.words, " "), err, op)
	}
	if _, pending := errors.AsType[*invalidate.PendingError](err); pending && !slices.Contains(s.rest, "pending") {
		p.Errorf("%s: %v is pending", strings.Join(s.words, " "), err)
	}
	if slices.Contains(s.rest, "perhaps") && err == nil {
		return
	}
	if (err == nil) != (want == nil) || slices.ContainsFunc(want, func(fault error) bool { return !isFault(err, fault) }) {
		p.Errorf("%s: %v", strings.Join(s.words, " "), err)
	}
}

// many reads by GetMany. The error of a key names this call, unless it is remembered.
func (p *player) many(s *step, c things) {
	p.Helper()
	m, err := c.GetMany(s.ctx, []int{s.key}, s.opts...)
	v, ok := m[s.key]
	if !ok && err == nil {
		err = &cache.Error{Op: "get many", Err: cache.ErrNotFound}
	}
	if be, isBatch := errors.AsType[*cache.BatchError[int]](err); isBatch {
		of, isError := errors.AsType[*cache.Error](be.Errs[s.key])
		op := "get many"
		if isFault(err, faults["remembered"]) {
			op = "get"
		}
		if !isError || of.Op != op || of.Key != keyScope(p.T, s.key).Text() {
			p.Errorf("%s: %v, want an *Error of %s and its key", strings.Join(s.words, " "), err, op)
		}
	}
	if faults[s.rest[0]] == nil {
		if ok && !isValue(v, s.rest[0]) {
			p.Errorf("%s: %q", strings.Join(s.words, " "), v)
		}
		s.rest = s.rest[1:]
	}
	p.wrote(s, err)
}

func isValue(v, word string) bool {
	if word == "any" || word == "empty" {
		return word == "any" || v == ""
	}
	other, not := strings.CutPrefix(word, "!")
	return (v == other) != not
}

// check checks a read against the words of its step. It is stale only if they say so.
func (p *player) check(s *step, r cache.Result[string], err error) {
	p.Helper()
	word, from := s.rest[0], ""
	if slices.Contains(s.rest, "maybe") {
		return
	}
	fault, stale := faults[word], slices.Contains(s.rest, "stale")
	for _, word := range s.rest[1:] {
		if word != "stale" && word != "fresh" {
			from = word
		}
	}
	ok := err == nil && isValue(r.Value, word)
	if word == "any" {
		ok, stale = err == nil, r.Stale && !slices.Contains(s.rest, "fresh")
	}
	if fault != nil {
		fresh := r.Source == 0 || word == "absent" || word == "remembered" || word == "error"
		ok = err != nil && isFault(err, fault) && r.Value == "" && fresh
	}
	key := keyScope(p.T, s.key).Text()
	if s.words[1] == "page" {
		key = strings.Replace(key, "things", "pages", 1)
	}
	if e, isError := errors.AsType[*cache.Error](err); err != nil && (!isError || e.Op != "get" || e.Key != key) {
		p.Errorf("%s: %v, want an *Error of get and its key", strings.Join(s.words, " "), err)
	}
	if re, ok := errors.AsType[*cache.RememberedError](err); s.code != "" {
		text := cmp.Or(p.err, errSource)
		if !ok || re.Code != s.code || errors.Is(err, text) == s.bare || strings.Contains(err.Error(), text.Error()) == s.bare || errors.Is(err, cache.ErrNotFound) {
			p.Errorf("%s: %v, want the code, and the error: %v", strings.Join(s.words, " "), err, !s.bare)
		}
	}
	if s.age != nil && r.Age != *s.age {
		p.Errorf("%s: age %v", strings.Join(s.words, " "), r.Age)
	}
	if s.left != nil && r.FreshFor != *s.left || r.FreshFor < 0 || r.FreshFor > 0 && (r.Stale || r.Source == 0) {
		p.Errorf("%s: fresh for %v", strings.Join(s.words, " "), r.FreshFor)
	}
	if !ok || r.Stale != stale || from != "" && from != r.Source.String() || r.Negative != (err != nil && r.Source != 0) {
		p.Errorf("%s: %q from %v, stale: %v, negative: %v, %v", strings.Join(s.words, " "), r.Value, r.Source, r.Stale, r.Negative, err)
	}
}

// fieldNamed returns the number of a field, such as Bytes or Loads.Calls.
func fieldNamed(of any, name string) (int64, bool) {
	v := reflect.ValueOf(of)
	for part := range strings.SplitSeq(name, ".") {
		if v.Kind() != reflect.Struct {
			return 0, false
		}
		v = v.FieldByName(part)
	}
	if !v.IsValid() || !v.CanInt() {
		return 0, false
	}
	return v.Int(), true
}

// counts checks fields of the counts in all, of the log's, and of the tiers'.
func (p *player) counts(tiers *cache.Tiers, words []string) {
	p.Helper()
	s := tiers.Stats()
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		got, known := s.Total.Reads.LocalHits+s.Total.Reads.RemoteHits+s.Total.Reads.Misses+s.Total.Reads.Merged, name == "Reads"
		for _, of := range []any{s.Total, s.Log, s.Local, s.Remote} {
			if n, ok := fieldNamed(of, name); ok && !known {
				got, known = n, true
			}
		}
		if !known || got != int64(p.number(value)) {
			p.Errorf("%s = %d, want %s", name, got, value)
		}
	}
}
