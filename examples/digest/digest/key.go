package digest

import "strconv"

// DigestKey is what a digest is cached by: hash/type/start/end, the times in unix ms. All
// four are looked up and all four are unique; the source document has one of them in the
// look-up alone, and pays for each request of a row that it can neither find nor replace.
type DigestKey string

// keyOf returns the key of a combination and a period.
func keyOf(hash string, w Window) DigestKey {
	return DigestKey(hash + "/" + string(w.Kind) + "/" +
		strconv.FormatInt(w.Start.UnixMilli(), 10) + "/" + strconv.FormatInt(w.End.UnixMilli(), 10))
}
