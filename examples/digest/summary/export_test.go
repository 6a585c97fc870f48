package summary

// Internals for the tests.
var (
	Plain  = plain
	Tokens = tokens
)

// Cut shortens a text to a number of tokens.
func Cut(s string, limit int) string { return shorten(s, limit, tokens) }
