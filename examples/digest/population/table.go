package population

// Row is what the source document expects of so many users.
type Row struct {
	Users        int
	Combinations int     // different sets of sources, about
	HitRatio     float64 // 0 to 1
	CallsCut     float64 // how many times fewer calls there are
}

// Table returns the table of the source document, §7.1, fewest users first. The slice
// belongs to the caller.
func Table() []Row {
	return []Row{
		{Users: 100, Combinations: 15, HitRatio: 0.85, CallsCut: 6.7},
		{Users: 1_000, Combinations: 80, HitRatio: 0.92, CallsCut: 12.5},
		{Users: 10_000, Combinations: 300, HitRatio: 0.97, CallsCut: 33},
	}
}

// Nearest returns the row of the table that so many users are held to: that of the same
// number, or else the next smaller one, for more users share more; fewer users than any
// row has are held to the first.
func Nearest(users int) Row {
	table := Table()
	best := table[0]
	for _, r := range table {
		if r.Users <= users {
			best = r
		}
	}
	return best
}
