package key_test

import (
	"testing"

	"github.com/twofold-go/twofold/key"
)

func BenchmarkSpaceKey(b *testing.B) {
	s := key.Space{Tenant: "acme", Namespace: "users:v1"}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Key("1234567")
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = key.Parse("acme:users:v1:1234567")
	}
}

func BenchmarkKeyHash(b *testing.B) {
	k, _ := key.Parse("acme:users:v1:1234567")
	b.ReportAllocs()
	for b.Loop() {
		_ = k.Hash()
	}
}

func BenchmarkText(b *testing.B) {
	for name, s := range map[string]string{"plain": "user-1234567", "escaped": "user:1234567:é"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = key.Text(s)
			}
		})
	}
}

func BenchmarkOf(b *testing.B) {
	b.Run("int64", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = key.Of(int64(1234567))
		}
	})
	b.Run("named int", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = key.Of(userID(1234567))
		}
	})
	b.Run("struct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = key.Of(page{"acme", "eyJvZmZzZXQiOjQyfQ"})
		}
	})
}
