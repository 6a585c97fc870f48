package remote_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

var (
	secret = []byte("a secret of 16 b")
	other  = []byte("another one of 2")
)

func sealOf(t testing.TB, secret, previous []byte) *remote.Seal {
	t.Helper()
	s, err := remote.NewSeal(secret, previous)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func frameOf(t testing.TB, payload string) []byte {
	t.Helper()
	c := tier.Cell{Nonce: tier.NewNonce(), ScopePos: 1, KeyPos: 2, SoftAt: 3, HardAt: 4, Tags: []uint64{5}, Echo: 6, Codec: "raw", Payload: []byte(payload)}
	b, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSealRefusesSecrets(t *testing.T) {
	for _, tt := range []struct {
		secret, previous []byte
		text             string
	}{
		{[]byte{}, nil, "it has 0 bytes"},
		{secret[:15], nil, "it has 15 bytes: use at least 16"},
		{secret, other[:3], "PreviousSecret: it has 3 bytes"},
		{secret, []byte{}, "PreviousSecret: it has 0 bytes"},
		{nil, other, "PreviousSecret is set"},
	} {
		if _, err := remote.NewSeal(tt.secret, tt.previous); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("NewSeal(%q, %q) = %v, want %q", tt.secret, tt.previous, err, tt.text)
		}
	}
	if s, err := remote.NewSeal(nil, nil); s != nil || err != nil {
		t.Errorf("NewSeal(nil, nil) = %v, %v, want no seal", s, err)
	}
}

// A value is read under its key, with the secret or as the previous one, and not otherwise.
func TestSeal(t *testing.T) {
	frame := frameOf(t, "payload")
	plain, one, two := sealOf(t, nil, nil), sealOf(t, secret, nil), sealOf(t, other, nil)
	both, swapped := sealOf(t, other, secret), sealOf(t, secret, other)
	for _, tt := range []struct {
		name   string
		writer *remote.Seal
		reader *remote.Seal
		key    string
		ok     bool
	}{
		{"no secret", plain, plain, "k", true},
		{"one secret", one, one, "k", true},
		{"previous secret", one, both, "k", true},
		{"secret of two", two, both, "k", true},
		{"next secret", two, swapped, "k", true},
		{"another secret", one, two, "k", false},
		{"another secret than both", sealOf(t, []byte(strings.Repeat("x", 40)), nil), both, "k", false},
		{"another key", one, one, "l", false},
		{"a longer key", one, one, "k ", false},
		{"sealed, read without a secret", one, plain, "k", false},
		{"not sealed, read with a secret", plain, one, "k", false},
	} {
		sealed := tt.writer.Close(bytes.Clone(frame), "k")
		c, _, _, err := tt.reader.Read(sealed, tt.key)
		if tt.ok && (err != nil || string(c.Payload) != "payload") || !tt.ok && !errors.Is(err, remote.ErrUnauthentic) {
			t.Errorf("%s: %q, %v, want it to be read: %v", tt.name, c.Payload, err, tt.ok)
		}
	}
}

// Every bit of a sealed frame counts, except for those that the remote tier's server rewrites.
func TestSealCoversEveryBit(t *testing.T) {
	s := sealOf(t, secret, nil)
	sealed := s.Close(frameOf(t, "payload"), "k")
	for bit := range 8 * len(sealed) {
		at := bit / 8
		b := bytes.Clone(sealed)
		b[at] ^= 1 << (bit % 8)
		c, _, _, err := s.Read(b, "k")
		rewritten := at >= 1 && at < 1+tier.NonceSize || at >= tier.RefreshAt && at < tier.HeaderSize
		if rewritten != (err == nil) || err == nil && string(c.Payload) != "payload" {
			t.Errorf("bit %d of byte %d: %+v, %v, want it to be read: %v", bit%8, at, c, err, rewritten)
		}
		if at > 0 && err != nil && !errors.Is(err, remote.ErrUnauthentic) {
			t.Errorf("bit %d of byte %d: %v, want ErrUnauthentic", bit%8, at, err)
		}
	}
	for n := range sealed {
		if _, _, _, err := s.Read(sealed[:n], "k"); err == nil {
			t.Errorf("the first %d bytes are read", n)
		}
	}
	if _, _, _, err := s.Read(append(bytes.Clone(sealed), 0), "k"); !errors.Is(err, remote.ErrUnauthentic) {
		t.Errorf("a byte more: %v", err)
	}
}

// A boundary between the key, the positions and the rest cannot be moved.
func TestSealKeepsBoundaries(t *testing.T) {
	s := sealOf(t, secret, nil)
	frame := frameOf(t, "payload")
	tag := func(frame []byte, key string) string {
		b := s.Close(bytes.Clone(frame), key)
		return string(b[len(b)-16:])
	}
	moved := bytes.Clone(frame)
	moved[tier.HeaderSize-1], moved[tier.HeaderSize] = 0, frame[tier.HeaderSize]
	seen := map[string]string{tag(frame, "k"): "frame"}
	for name, got := range map[string]string{
		"the key takes a byte of the frame": tag(frame[:len(frame)-1], "k"+string(frame[len(frame)-1:])),
		"a zero byte":                       tag(append(bytes.Clone(frame), 0), "k"),
		"a zero byte of the key":            tag(frame, "k\x00"),
		"no key":                            tag(frame, ""),
	} {
		if was := seen[got]; was != "" {
			t.Errorf("%s has the tag of %s", name, was)
		}
		seen[got] = name
	}
	if tag(frame, "k") != tag(moved, "k") {
		t.Error("RefreshUntil is part of the tag")
	}
}

// A lease has no tag, because the server makes it, too.
func TestSealLeavesLeases(t *testing.T) {
	s := sealOf(t, secret, nil)
	for _, frame := range [][]byte{tier.LeaseCell(tier.NewNonce()), remote.EndMark(tier.NewNonce())} {
		c, nonce, _, err := s.Read(frame, "k")
		if err != nil || c.Kind != tier.KindLease || nonce.IsZero() {
			t.Errorf("Read = %+v, %v", c, err)
		}
	}
}

// Making a cell stale keeps it authentic.
func TestSealOfStaleCell(t *testing.T) {
	s := sealOf(t, secret, nil)
	c, err := s.Parse(s.Close(frameOf(t, "payload"), "k"), "k")
	if err != nil {
		t.Fatal(err)
	}
	c.SoftAt = 5000
	p := policy.Default()
	fill, err := s.StaleCell("k", &c, tier.NewNonce(), 1000, &p)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = s.Parse(fill.Cell, "k"); err != nil || c.SoftAt != 1000 {
		t.Errorf("Parse = %+v, %v", c, err)
	}
}

func TestSealConcurrently(t *testing.T) {
	s := sealOf(t, secret, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key := string(binary.AppendUvarint(nil, uint64(i)))
			for range 200 {
				sealed := s.Close(frameOf(t, strings.Repeat("x", 100*i)), key)
				if _, err := s.Open(sealed, key); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSealDoesNotAllocate(t *testing.T) {
	s := sealOf(t, secret, nil)
	sealed := s.Close(frameOf(t, "payload"), "key")
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Open(sealed, "key") }); n > 0 && !race.Enabled {
		t.Errorf("Open: %v allocations, want none", n)
	}
}

// FuzzSeal: no bytes are authentic but those that Close returned.
func FuzzSeal(f *testing.F) {
	s := sealOf(f, secret, other)
	f.Add(s.Close(frameOf(f, "x"), "k"), "l")
	f.Add(frameOf(f, "x"), "k")
	f.Add([]byte("V"), "")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		if frame, err := s.Open(b, key); err == nil && len(b) > 0 && b[0] == byte(tier.KindValue) {
			if again := s.Close(bytes.Clone(frame), key); !bytes.Equal(again, b) {
				t.Errorf("%x is authentic for %q", b, key)
			}
		}
		_, _, _, _ = s.Read(b, key)
	})
}
