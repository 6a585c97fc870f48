// Package command runs the command lines of the example programs.
package command

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// Run parses args into commands, a struct for package kong, and runs the chosen one with p. It
// returns the exit status: 1 if something failed, 2 if the arguments are wrong.
func Run(commands any, name, description string, args []string, out, errs io.Writer, p any) int {
	exited := false
	parser, err := kong.New(commands, kong.Name(name), kong.Description(description), kong.Writers(out, errs), kong.ShortUsageOnError(),
		kong.Exit(func(int) { exited = true })) // after it printed the help
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", name, err)
		return 2
	}
	call, err := parser.Parse(args)
	switch {
	case exited:
		return 0
	case err != nil:
		parser.FatalIfErrorf(err)
		return 2
	}
	if err := call.Run(p); err != nil {
		fmt.Fprintf(errs, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
