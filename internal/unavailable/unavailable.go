// Package unavailable has the error that packages cache and invalidate share.
package unavailable

import "errors"

// Err says that the remote tier or the log is out of reach. It is cache.ErrUnavailable.
var Err = errors.New("cache: remote tier or log out of reach")
