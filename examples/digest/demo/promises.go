package demo

import (
	"fmt"
	"io"
)

// promise is something that was promised; what it says is what is printed.
type promise int

// The promises, in the order in which they are printed.
const (
	keptRatio promise = iota
	keptCut
	keptOnce
	keptAll
	keptText
	keptLinks
	keptTwice
	keptRestart
	keptDelete
	keptHashes
	keptDrift
	keptGone
	keptStored
	keptRecovered
	keptMoved
	keptParked
	keptCounts
	promised // how many there are
)

var wording = [promised]string{
	keptRatio:     "as many users share a digest as the document says",
	keptCut:       "as many calls are saved as the document says",
	keptOnce:      "no combination is paid for twice, and none for a period without news",
	keptAll:       "everybody is served, and nobody with an old digest",
	keptText:      "what users read is what is cached, byte for byte",
	keptLinks:     "every link in a digest is that of an item of the user's sources",
	keptTwice:     "no digest tells of an item twice",
	keptRestart:   "a restart costs no call",
	keptDelete:    "a combination that an operator deletes is written once more",
	keptHashes:    "hashes change with subscriptions, and with nothing else",
	keptDrift:     "what is kept of subscriptions is what they are",
	keptGone:      "a source that was deleted is in no digest from then on",
	keptStored:    "no item is stored twice",
	keptRecovered: "every source that failed has recovered",
	keptMoved:     "the source that moved is asked at its new address",
	keptParked:    "the source that nobody can fetch is parked, and fails nothing",
	keptCounts:    "the program's own numbers are those that were counted outside",
}

// promises says which promises were put to the test, and kept. The zero value is that
// none was.
type promises [promised]verdict

type verdict struct {
	checks, missed int
	first          string // what was wrong with the first that was missed
}

// check puts a promise to the test once more. The text says what was wrong if it was not
// kept.
func (p *promises) check(which promise, ok bool, format string, args ...any) {
	v := &p[which]
	v.checks++
	if ok {
		return
	}
	v.missed++
	if v.missed == 1 {
		v.first = fmt.Sprintf(format, args...)
	}
}

// print prints a line for each promise that was put to the test.
func (p *promises) print(out io.Writer) {
	for which, v := range p {
		switch {
		case v.checks == 0:
		case v.missed == 0:
			fmt.Fprintf(out, "ok      %s (%s)\n", wording[which], times(v.checks))
		default:
			fmt.Fprintf(out, "MISSED  %s (%s of %s): %s\n", wording[which], comma(int64(v.missed)), comma(int64(v.checks)), v.first)
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "checked once"
	}
	return "checked " + comma(int64(n)) + " times"
}

// err returns an error that wraps [ErrMissed] if a promise was not kept.
func (p *promises) err() error {
	n := 0
	for _, v := range p {
		if v.missed > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of them", ErrMissed, n)
}
