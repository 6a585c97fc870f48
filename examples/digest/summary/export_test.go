package summary

// What the tests look at from within.
var (
	Plain     = plain
	Sentences = sentences
	Tokens    = tokens
	Cut       = cut
)
