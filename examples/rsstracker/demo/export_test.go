package demo

import "io"

// Compare prints the comparison of two costs, of so many requests and bytes.
func Compare(out io.Writer, full, incremental int) error {
	c := comparison{full: cost{full, full, 1}, incremental: cost{incremental, incremental, 1}}
	return c.print(&world{out: out})
}
