// Package peers puts other caches, and Twofold's own parts, behind one small interface, so a
// workload can compare them.
//
// An adapter does what a program with an int64 key and a struct value would have to do, and no
// more. Caches of bytes encode and decode with the same CBOR, caches with string keys get
// ready-made strings, and typed caches hold the struct itself. The tests check every adapter
// against one contract, so no adapter wins by being wrong.
package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/testkit/trace"
)

// Value is the value in all caches.
type Value struct {
	ID   int64
	Name string
	Tags [2]string
}

// Key is one key in the forms that caches need.
type Key struct {
	ID   int64
	Text string
}

// KeyOf returns the key of id.
func KeyOf(id int64) Key { return Key{ID: id, Text: "bench:" + strconv.FormatInt(id, 10)} }

// Small returns a value of about 60 bytes, with a name that depends on the id.
func Small(id int64) Value { return Value{ID: id, Name: names[id&7], Tags: [2]string{"one", "two"}} }

// Large returns a value of 1 KiB. Values share their texts, because the caches are measured and not
// the values.
func Large(id int64) Value { return Value{ID: id, Name: texts[id&7], Tags: [2]string{"one", "two"}} }

var names = [8]string{"Ada", "Barbara", "Edsger", "Frances", "Grace", "Katherine", "Margaret", "Radia"}

var texts = func() (t [8]string) {
	for i := range t {
		t[i] = strings.Repeat(names[i]+" ", 1000)[:980]
	}
	return t
}()

// Loader loads the value of an id.
type Loader func(ctx context.Context, id int64) (Value, error)

// Peer is one cache. All methods except Close may be called concurrently.
type Peer interface {
	// Get returns the value of k. If there is none, a loading cache calls its loader, and any other
	// reports false.
	Get(ctx context.Context, k *Key) (Value, bool)
	// Set stores v under k and returns when the cache's own call returns.
	Set(ctx context.Context, k *Key, v Value) error
	// Settle waits until values that were Set can be found, if the cache needs time for that.
	Settle()
	// Close ends everything that the cache has started.
	Close()
}

// Options configure a peer.
type Options struct {
	Entries  int    // room for this many values without eviction
	MaxBytes int64  // of the tiers that are bounded by bytes; 0: enough for Entries
	Redis    string // address, for peers that need one
	Prefix   string // of keys in Redis
	Load     Loader // for peers that load; nil: they find nothing
}

// roomy returns MaxBytes, or enough bytes for Entries values of up to 1 KiB and a cache's overhead.
func (o *Options) roomy() int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return max(int64(o.Entries)*(2<<10), 8<<20)
}

// load calls the loader, or fails if there is none.
func (o *Options) load(ctx context.Context, id int64) (Value, error) {
	if o.Load == nil {
		return Value{}, errNoLoader
	}
	return o.Load(ctx, id)
}

var errNoLoader = errors.New("peers: no loader")

// idle is for peers that store values immediately and start nothing.
type idle struct{}

func (idle) Settle() {}
func (idle) Close()  {}

// Kind says what a peer is, and so what it can be compared with.
type Kind uint8

// The kinds of peers.
const (
	Table   Kind = iota + 1 // holds values in this process
	Bytes                   // holds encoded values in this process
	Loading                 // in this process, and loads missing values
	TwoTier                 // in this process and in Redis
)

// Spec describes a peer that is not open yet.
type Spec struct {
	Name  string
	Kind  Kind
	Loads bool               // Get calls Options.Load
	Open  func(Options) Peer // it fails by setup.Check
}

// All returns every peer, in the order of the tables.
func All() []Spec {
	return append(append(append(append(ours(), objects()...), loading()...), byteCaches()...), remote()...)
}

// ByName returns the peer of that name.
func ByName(name string) (Spec, error) {
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
	}
	return Spec{}, fmt.Errorf("peers: no peer %q", name)
}

// LeftOut names the requested peers that are missing, with the reasons.
func LeftOut() [][2]string {
	const refused = "the module proxy refuses it (403)"
	return [][2]string{
		{"mgtv-tech/jetcache-go", refused},
		{"eko/gocache", refused},
		{"samber/hot", refused},
		{"rueidisaside", "not served by the module proxy as a module of its own"},
	}
}

// hashOf spreads an id, for tiers that are addressed by a hash.
func hashOf(id int64) uint64 { return trace.Hash(uint64(id)) }
