package cachez

import "strconv"

// bar is a small chart: the parts of a whole in one row, from good to bad.
type bar []slice

// part is a number of a bar.
type part struct {
	label string
	n     int64
}

// slice is a part as it is drawn, in percent of the bar's width.
type slice struct {
	Class, Title string
	At, Width    float64
}

// barOf draws parts in their order. It returns nil if all are zero.
func barOf(parts ...part) (b bar) {
	var sum, before int64
	for _, p := range parts {
		sum += p.n
	}
	for i, p := range parts {
		if p.n > 0 {
			share := 100 * float64(p.n) / float64(sum)
			b = append(b, slice{
				Class: "p" + strconv.Itoa(i), Title: p.label + " " + strconv.FormatInt(p.n, 10) + ", " + strconv.FormatFloat(share, 'f', 1, 64) + " %",
				At: 100 * float64(before) / float64(sum), Width: share,
			})
		}
		before += p.n
	}
	return b
}
