package cache

import (
	"context"
	"fmt"

	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
)

// Ticket returns a short text that stands for everything that this process knows of the log now. That includes
// every Invalidate, Delete, Set and Expire that has returned nil here. Give the ticket to another service with the
// next request. There a read with [AtLeast], or [Tiers.ReadyFor], answers with data at least as new, without
// waiting for the log's bound.
//
// An invalidation that returned a PendingError is not included. After a commit of package sqllog, or a statement
// that runs a trigger, call [Tiers.Ready] first. A ticket is 5 to 50 characters of ASCII: letters, digits and hyphens. It
// holds no secret. Without a log it is empty, and stands for nothing.
func (t *Tiers) Ticket() string {
	core, err := t.engine()
	if err != nil || core.Follower == nil {
		return ""
	}
	at := core.Fences.Cursor()
	return fmt.Sprintf(ticketForm, at.Epoch, at.Key, at.Scope)
}

// ticketForm has the id of an epoch, and a position of each sequence.
const ticketForm = "%x-%x-%x"

// ReadyFor waits until this process knows everything that a ticket stands for; see [Tiers.Ticket]. Usually it knows that
// already, and ReadyFor returns immediately. Otherwise it asks the log. From then on no read in this process returns
// a value that those invalidations cover. A ticket of another epoch of the log stands for everything that the log knows
// now. An empty ticket stands for nothing.
//
// The error wraps [ErrOption] if the text is no ticket. It wraps [ErrUnavailable] if there is no log, or if
// the log does not have what the ticket stands for, and the reason of ctx if ctx ends first. Then read with [AtLeast],
// which asks the source.
func (t *Tiers) ReadyFor(ctx context.Context, ticket string) error {
	return t.do("ready", "-", func(core *resident.Core) error {
		at, err := parseTicket(ticket)
		if err != nil || ticket == "" {
			return err
		}
		return core.ReadyFor(ctx, at)
	})
}

// AtLeast makes a read answer with data at least as new as a ticket; see [Tiers.Ticket]. If this process does not know
// yet what the ticket stands for, the read asks the log. If the log does not answer within 150 ms or half of the time that
// ctx leaves, or there is none, the read takes only a value whose load begins after the call, as with MaxAge(0). An empty ticket changes
// nothing. A text that is no ticket is an error.
//
// What a loader reads from other caches while the log does not answer is as new as the bound says, and so is a value
// that is built from it.
func AtLeast(ticket string) Option { return Option{kind: optAtLeast, ticket: ticket} }

// parseTicket returns what a ticket stands for. It accepts what Ticket has written, and nothing else.
func parseTicket(text string) (at invalidate.Cursor, err error) {
	if text == "" {
		return at, nil
	}
	_, err = fmt.Sscanf(text, ticketForm, &at.Epoch, &at.Key, &at.Scope)
	if err != nil || fmt.Sprintf(ticketForm, at.Epoch, at.Key, at.Scope) != text {
		return at, fmt.Errorf("%w: a ticket of %d bytes is not what Tiers.Ticket returns: pass that text on unchanged", ErrOption, len(text))
	}
	return at, nil
}
