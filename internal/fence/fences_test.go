package fence_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func TestFences(t *testing.T) {
	k := fencetest.KeyOf(t, "acme:users:v1:42")
	for _, tt := range []struct {
		name  string
		scope invalidate.Scope
		kills bool
	}{
		{"its key", invalidate.Key(k), true},
		{"another key", invalidate.Key(fencetest.KeyOf(t, "acme:users:v1:43")), false},
		{"its space", invalidate.Prefix("acme", "users:v1:"), true},
		{"a wider space", invalidate.Prefix("acme", "users:"), true},
		{"its tenant", invalidate.Tenant("acme"), true},
		{"part of its id", invalidate.Prefix("acme", "users:v1:4"), true},
		{"all of its key", invalidate.Prefix("acme", "users:v1:42"), true},
		{"longer than its key", invalidate.Prefix("acme", "users:v1:421"), false},
		{"another space", invalidate.Prefix("acme", "users:v2:"), false},
		{"another tenant", invalidate.Tenant("bolt"), false},
		{"its tag", invalidate.Tag("acme", "org:7"), true},
		{"its other tag", invalidate.Tag("acme", "eu"), true},
		{"another tag", invalidate.Tag("acme", "org:8"), false},
		{"another tenant's tag", invalidate.Tag("bolt", "org:7"), false},
		{"everything", invalidate.All(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fence.New(start)
			before := fencetest.New(f, k.String(), "org:7", "eu")
			fencetest.Check(t, f, before, true)
			f.Fence(tt.scope)
			fencetest.Check(t, f, before, !tt.kills)
			fencetest.Check(t, f, fencetest.New(f, k.String(), "org:7", "eu"), true)
		})
	}
}

// collision returns two keys that share a bucket of the key clock.
func collision() (a, b string) {
	const buckets = 1 << 16
	byBucket := map[uint64]string{}
	for i := 0; a == ""; i++ {
		k := fmt.Sprint("acme:users:", i)
		h := xxhash.Sum64String(k) % buckets
		if other, taken := byBucket[h]; taken {
			a, b = other, k
		}
		byBucket[h] = k
	}
	return a, b
}

// Two keys of one bucket: the fence of one sends the other to the exact table, and does not kill
// it.
func TestBucketCollision(t *testing.T) {
	a, b := collision()
	f := fence.New(start)
	ea, eb := fencetest.New(f, a), fencetest.New(f, b)
	for range 100 {
		f.Fence(invalidate.Key(fencetest.KeyOf(t, b)))
		fencetest.Check(t, f, ea, true)
	}
	fencetest.Check(t, f, eb, false)
	f.Fence(invalidate.Key(fencetest.KeyOf(t, a)))
	fencetest.Check(t, f, ea, false)
}

func TestPrefixesOfManyLengths(t *testing.T) {
	f := fence.New(start)
	long := "acme:" + strings.Repeat("n", 500) + ":id"
	e := fencetest.New(f, long)
	for n := 6; n < 400; n++ { // none of them covers e
		f.Fence(invalidate.Prefix("acme", strings.Repeat("m", n-5)))
		if n == 6 {
			e = fencetest.New(f, long) // that one did
		}
	}
	fencetest.Check(t, f, e, true)
	f.Fence(invalidate.Prefix("acme", long[len("acme:"):300]))
	fencetest.Check(t, f, e, false)
	fencetest.Check(t, f, fencetest.New(f, long), true)
}

// A key shares its bucket with a fenced one and has just been fenced itself. It is checked by its
// own fence: an entry from in between is clear.
func TestExactTable(t *testing.T) {
	f := fence.New(start)
	a, b := collision()
	f.Fence(invalidate.Key(fencetest.KeyOf(t, a)))
	e := fencetest.New(f, a)
	f.Fence(invalidate.Key(fencetest.KeyOf(t, b)))
	fencetest.Check(t, f, e, true)
	f.Fence(invalidate.Key(fencetest.KeyOf(t, a)))
	fencetest.Check(t, f, e, false)
}

// A value that another process filled is checked by its position, not by the time of the fetch: a
// fetch that began after the fence may still bring an older frame.
func TestAccepts(t *testing.T) {
	f := fence.New(start)
	k := fencetest.KeyOf(t, "acme:users:1")
	h := k.Hash()
	old := f.Capture()
	f.Fence(invalidate.Key(k), invalidate.Tag("acme", "t"), invalidate.Prefix("acme", "others:"))
	fresh := f.Capture()
	tags := &fence.Deps{Tags: []uint64{invalidate.Tag("acme", "t").Hash()}}
	for _, tt := range []struct {
		name       string
		key, scope invalidate.Position
		text       string
		tags       *fence.Deps
		want       bool
	}{
		{"newer than all", fresh.Key, fresh.Scope, k.String(), tags, true},
		{"older than the key's fence", old.Key, fresh.Scope, k.String(), nil, false},
		{"older than the tag's fence", fresh.Key, old.Scope, k.String(), tags, false},
		{"older than a fence that is not its own", fresh.Key, old.Scope, k.String(), nil, true},
		{"never marked", 0, 0, k.String(), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fencetest.Accepts(f, fence.Mark{Key: tt.key, Scope: tt.scope}, h, tt.text, tt.tags); got != tt.want {
				t.Errorf("Accepts = %v, want %v", got, tt.want)
			}
		})
	}
	f.Flush()
	if fencetest.Accepts(f, fresh, h+1, "acme:users:2", nil) {
		t.Error("a frame from before the flush is accepted")
	}
}

func TestPositionsGrow(t *testing.T) {
	f := fence.New(start)
	last := f.Capture()
	for i := range 1000 {
		f.Fence(invalidate.Tag("acme", "t"))
		m := f.Capture()
		if m.Scope <= last.Scope || m.Key <= last.Key || m.Tick != last.Tick+1 || f.Tick() != m.Tick {
			t.Fatalf("mark %d is %+v after %+v", i, m, last)
		}
		last = m
	}
	p := invalidate.At(3, 4)
	if p.Epoch() != 3 || p.N() != 4 || p <= invalidate.At(3, 3) || p <= invalidate.At(2, 1<<31) {
		t.Errorf("At(3, 4) = %d:%d", p.Epoch(), p.N())
	}
}

// An entry that is marked before a fence returns and checked after it is never clear, even if other
// goroutines fence the same scope. Of two fences that overtake each other the newer one counts.
func TestFencesConcurrently(t *testing.T) {
	const k = "acme:users:1"
	for name, scope := range map[string]invalidate.Scope{
		"key":    invalidate.Key(fencetest.KeyOf(t, k)),
		"prefix": invalidate.Prefix("acme", "users:"),
		"tag":    invalidate.Tag("acme", "shared"),
		"all":    invalidate.All(),
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.New(start)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 5000 {
						e := fencetest.New(f, k, "shared")
						_ = e.Clear(f) // noted at some tick
						f.Fence(scope)
						if e.Clear(f) || !fencetest.Overtaken(f, e.Mark, e.Hash, e.Key, e.Tags) || fencetest.Accepts(f, e.Mark, e.Hash, e.Key, e.Tags) {
							t.Error("an entry outlived its fence")
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestScopeValidate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scope invalidate.Scope
		ok    bool
		text  string
	}{
		{"key", invalidate.Key(fencetest.KeyOf(t, "a:b:c")), true, "key a:b:c"},
		{"prefix", invalidate.Prefix("a", "b"), true, "prefix a:b"},
		{"tenant", invalidate.Tenant("a"), true, "prefix a:"},
		{"tag", invalidate.Tag("a", "x:y"), true, "tag a:x:y"},
		{"all", invalidate.All(), true, "everything"},
		{"longest tag", invalidate.Tag("a", strings.Repeat("x", 256)), true, ""},
		{"longest prefix", invalidate.Prefix("a", strings.Repeat("x", 1022)), true, ""},
		{"zero scope", invalidate.Scope{}, false, ""},
		{"zero key", invalidate.Key(key.Key{}), false, ""},
		{"empty prefix", invalidate.Prefix("a", ""), false, "prefix a:"},
		{"prefix without tenant", invalidate.Prefix("", "a"), false, ""},
		{"empty prefix without tenant", invalidate.Prefix("", ""), false, ""},
		{"prefix of a tenant with a colon", invalidate.Prefix("users:v1:", "7"), false, ""},
		{"no tenant", invalidate.Tenant(""), false, ""},
		{"tenant with a colon", invalidate.Tenant("a:b"), false, ""},
		{"invalid", invalidate.Invalid(errors.New("why")), false, "invalid scope"},
		{
			"over-long prefix", invalidate.Prefix("a", strings.Repeat("x", 1023)), false,
			"prefix a:" + strings.Repeat("x", 62) + "… (1025 bytes)",
		},
		{"tag without tenant", invalidate.Tag("", "x"), false, ""},
		{"tag of a tenant with a colon", invalidate.Tag("a:b", "x"), false, ""},
		{"empty tag", invalidate.Tag("a", ""), false, ""},
		{"over-long tag", invalidate.Tag("a", strings.Repeat("x", 257)), false, ""},
		{"tag not UTF-8", invalidate.Tag("a", "\xff"), false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.scope.Validate()
			if (err == nil) != tt.ok {
				t.Errorf("Validate = %v, want ok %v", err, tt.ok)
			}
			if err != nil && !strings.Contains(err.Error(), invalidate.ErrScope.Error()) {
				t.Errorf("Validate = %v, want ErrScope", err)
			}
			if tt.text != "" && tt.scope.String() != tt.text {
				t.Errorf("String = %q, want %q", tt.scope, tt.text)
			}
		})
	}
}

func TestHashOfTags(t *testing.T) {
	seen := map[uint64]string{}
	for _, tenant := range []string{"a", "ab", "abc", "b", strings.Repeat("t", 200)} {
		for _, tag := range []string{"a", "b", "bc", "c", ":", "a:b", "b:a", strings.Repeat("x", 200)} {
			s := invalidate.Tag(tenant, tag)
			h := s.Hash()
			if other, taken := seen[h]; taken {
				t.Errorf("(%s, %s) and %s share a hash", tenant, tag, other)
			}
			seen[h] = "(" + tenant + ", " + tag + ")"
			if s.Tenant() != tenant || s.Text() != tag {
				t.Errorf("Tag(%s, %s) = %v", tenant, tag, s)
			}
		}
	}
}

func TestClearDoesNotAllocate(t *testing.T) {
	f := fence.New(start)
	e := fencetest.New(f, "acme:users:1", "a", "b")
	expired, prefix := fence.Request{Scopes: []invalidate.Scope{invalidate.Tag("acme", "a")}, Soft: true}, invalidate.Prefix("acme", "u")
	for name, disturb := range map[string]func(){
		"undisturbed": func() {},
		"after an expiry": func() {
			f.Apply(expired)
			f.StoreHashed(fence.Hashed{Kind: invalidate.KindPrefix, Hash: 1, Len: len(prefix.Text()), Soft: true}, 0)
		},
		"after a scope fence": func() { f.Fence(invalidate.Tag("acme", "other")) },
	} {
		disturb()
		if n := testing.AllocsPerRun(100, func() { disturb(); _ = e.Clear(f) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkClear(b *testing.B) {
	for _, bb := range []struct {
		name    string
		disturb func(f *fence.Fences)
	}{
		{"fast", func(*fence.Fences) {}},
		{"after a scope fence", func(f *fence.Fences) { f.Fence(invalidate.Tag("acme", "other")) }},
		{"after an expiry", func(f *fence.Fences) { expire(f, invalidate.Tag("acme", "other")) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			f := fence.New(start)
			f.Fence(invalidate.Prefix("acme", "others:"), invalidate.Tenant("acme"))
			e := fencetest.New(f, "acme:users:1", "a", "b")
			b.ReportAllocs()
			for b.Loop() {
				bb.disturb(f)
				if !e.Clear(f) {
					b.Fatal("not clear")
				}
			}
		})
	}
}
