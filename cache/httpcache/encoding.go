package httpcache

import (
	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
)

// Encoding is a content coding in which responses are stored beside their plain form. Gzip and
// Zstd make one; New refuses the zero Encoding. It may be used concurrently and by several
// Caches.
type Encoding struct{ by coding.Coding }

// Gzip returns the coding that every client knows, at a level from 1, the fastest, to 9, the
// smallest. Zero means the default level of gzip.
func Gzip(level int) Encoding { return Encoding{coding.Gzip(level)} }

// Zstd returns the coding of RFC 8878, at a level from 1, the fastest, to 22, the smallest. Zero
// means level 3. It is faster than gzip and smaller, and newer clients know it. Its window is at
// most 8 MiB, as RFC 9659 requires.
func Zstd(level int) Encoding { return Encoding{coding.Zstd(level)} }

// compressors returns what makes the codings of a Config.
func compressors(of []Encoding) []coding.Coding {
	all := make([]coding.Coding, len(of))
	for i, e := range of {
		all[i] = e.by
	}
	return all
}
