package sqllog

// statements are the texts that do not depend on what is written. Arguments have the
// same places in all of them: $1 is the namespace.
type statements struct {
	outbox, log, meta string // qualified names

	look  query // $2 and $3: the caller's positions; $4: the identity, where Config has one
	page  query // $2 and $3: behind these positions; $4 and $5: up to these
	stage query // $2: rows at most; $3: the identity, where Config has one
	trim  query // $2: the sequence; $3: records that stay
	terms query // $2: the bound in ms; $3: the tier, or NULL
	start query // makes the row in meta where there is none
	top   query // the highest position of all records
	epoch query // $2: the identity; $3: the epoch's id; $4: the position of its bumps; $5: the bound in ms
	proof query // a small write
}
