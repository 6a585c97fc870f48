package logwire

import "time"

// Storing is a value that a log on the server of its cell stores in the step that appends the record
// of its key. The step is a claim over what the cell holds, the record, and a fill. So it obeys
// the rules of tier.Remote, and nothing can come between its parts.
type Storing struct {
	Cell  string        // the name of the cell
	Claim []byte        // the frame of the claim
	Lease time.Duration // of the claim
	Frame []byte        // as of the record that directly follows the caller's cursor
	TTL   time.Duration
}

// Stored says what became of a [Storing].
type Stored int64

// The results of a step that stores. Other records may have come after the caller's cursor: then the
// frame would be as of another record, and the caller has the claim.
const (
	Claimed Stored = iota + 1
	Filled
)
