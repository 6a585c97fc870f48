package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// access is who may make a call.
type access int

const (
	anybody   access = iota // also without a key, but not with a wrong one
	users                   // a user, about what is the user's own
	operators               // whoever has the operator's key
)

// caller is who makes a request. The zero caller is a stranger.
type caller struct {
	user     store.User // of a user's key
	operator bool
}

func (c caller) known() bool { return c.operator || c.user.ID != 0 }

// identify returns who makes a request. A key that is nobody's is no stranger's: who
// sends one means to be somebody, and is told.
func (a *api) identify(r *http.Request) (c caller, err error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return c, nil
	}
	scheme, key, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" { // which would be the operator's where none is set
		return c, unauthorised()
	}
	// Hashes are compared, so that the time it takes says nothing about the key, not
	// even its length. A user's key is looked up by its hash, which says as little.
	sum := sha256.Sum256([]byte(key))
	if subtle.ConstantTimeCompare(sum[:], a.key[:]) == 1 {
		return caller{operator: true}, nil
	}
	c.user, err = a.Store.UserByKey(r.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return c, unauthorised()
	}
	return c, err
}

// check returns why a caller may not make a call that needs more, or nil.
func (c caller) check(need access) error {
	switch {
	case need == anybody, need == operators && c.operator, need == users && c.user.ID != 0:
		return nil
	case !c.known():
		return unauthorised()
	case need == operators:
		return &problem{Status: http.StatusForbidden, Text: "this call takes the operator's key, not a user's"}
	}
	return &problem{Status: http.StatusForbidden, Text: "this call takes a user's key, not the operator's"}
}

func unauthorised() error {
	return &problem{Status: http.StatusUnauthorized, Text: "a valid key is needed: Authorization: Bearer KEY"}
}
