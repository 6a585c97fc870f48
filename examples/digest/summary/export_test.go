package summary

// What the tests look at from within.
var (
	Plain  = plain
	Tokens = tokens
)

// Cut shortens a text to so many tokens.
func Cut(s string, limit int) string { return shorten(s, limit, tokens) }
