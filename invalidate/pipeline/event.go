package pipeline

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// The bounds of an [Event].
const (
	MaxKeyLen      = 512                               // bytes of an idempotency key
	MaxTextLen     = key.MaxLen + invalidate.MaxTagLen // bytes of a subject, an entity, or a warm-up's name
	MaxInvalidates = 1024                              // entities of an event
	MaxWarms       = 64                                // warm-ups of an event
)

// ErrEvent is wrapped by every error about an event that cannot be published.
var ErrEvent = errors.New("pipeline: bad event")

// Event says that something was written. Whoever writes publishes it, once the
// write is there to be read: a warm-up of it reads it.
type Event struct {
	// Key names the occurrence: an event with a key that was seen lately is
	// not queued again, whatever else it says. An attempt that is repeated
	// repeats the key. It is never empty; crypto/rand.Text makes one.
	Key string

	// Subject is what was written, such as "post:7". The latest event about a
	// subject decides what is warmed up for it; see [Merge]. Never empty.
	Subject string

	// Deleted says that the subject is gone. Warms is then what is to be warmed
	// up without it, such as the page that listed it.
	Deleted bool

	// Invalidates are the entities of which nothing may be served any more
	// that is older. All of them are invalidated, whatever comes later.
	Invalidates []string

	// Warms are the names of what to warm up afterwards, in the order to do
	// it. Config.Warm knows what they mean.
	Warms []string

	// Epoch is the event's place in the order of all. Publish sets it.
	Epoch uint64
}

// Validate reports why an event cannot be published; its errors wrap
// [ErrEvent], and say how long a text is but not what it is.
func (e *Event) Validate() error {
	if err := validText("key", e.Key, MaxKeyLen); err != nil {
		return err
	}
	if err := validText("subject", e.Subject, MaxTextLen); err != nil {
		return err
	}
	if err := validTexts("entity", e.Invalidates, MaxInvalidates, MaxTextLen); err != nil {
		return err
	}
	if err := validTexts("warm-up", e.Warms, MaxWarms, MaxTextLen); err != nil {
		return err
	}
	if !e.Deleted && len(e.Invalidates) == 0 && len(e.Warms) == 0 {
		return fmt.Errorf("%w: it neither deletes, invalidates nor warms up anything", ErrEvent)
	}
	return nil
}

func validTexts(what string, texts []string, most, length int) error {
	if len(texts) > most {
		return fmt.Errorf("%w: %d of kind %s, at most %d", ErrEvent, len(texts), what, most)
	}
	for _, s := range texts {
		if err := validText(what, s, length); err != nil {
			return err
		}
	}
	return nil
}

func validText(what, s string, most int) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: %s is empty", ErrEvent, what)
	case len(s) > most:
		return fmt.Errorf("%w: %s has %d bytes, at most %d", ErrEvent, what, len(s), most)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s of %d bytes is not UTF-8", ErrEvent, what, len(s))
	}
	return nil
}
