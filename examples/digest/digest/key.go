package digest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/key"
)

// DigestKey is what a digest is cached by: hash/type/start/end, the times in unix ms. All
// four are looked up and all four are unique; the source document has one of them in the
// look-up alone, and pays for each request of a row that it can neither find nor replace.
type DigestKey string

// keyOf returns the key of a combination and a period.
func keyOf(hash string, w Window) DigestKey {
	return DigestKey(hash + "/" + string(w.Kind) + "/" +
		strconv.FormatInt(w.Start.UnixMilli(), 10) + "/" + strconv.FormatInt(w.End.UnixMilli(), 10))
}

// parse returns what a key was made of.
func (k DigestKey) parse() (hash string, w Window, err error) {
	parts := strings.Split(string(k), "/")
	if len(parts) != 4 {
		return "", w, fmt.Errorf("digest: key of %d parts, want 4", len(parts))
	}
	if w.Kind, err = ParseKind(parts[1]); err != nil {
		return "", w, err
	}
	for i, to := range []*time.Time{&w.Start, &w.End} {
		ms, err := strconv.ParseInt(parts[2+i], 10, 64)
		if err != nil {
			return "", w, fmt.Errorf("digest: key with a time that is no number of %d bytes", len(parts[2+i]))
		}
		*to = time.UnixMilli(ms).UTC()
	}
	return parts[0], w, nil
}

// fromFull returns the DigestKey in a full key of the cache.
func fromFull(full string) (DigestKey, error) {
	k, err := key.Parse(full)
	if err != nil {
		return "", err
	}
	id, err := key.Unescape(k.ID())
	return DigestKey(id), err
}
