package script

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Command is a command of a script.
type Command struct {
	// Args names the arguments, for their number and for messages: "key value", "key [value]" or
	// "key [more...]". Empty means none.
	Args string
	// Options are the names that may precede "=".
	Options []string
	// Unordered says that the command reports from several goroutines concurrently. Events of one
	// instant are then sorted.
	Unordered bool
	// Run does the work. With the script command go, several goroutines may call it concurrently.
	// An error fails the story. An outcome that a story should show is printed instead.
	Run func(*Call) error
}

// Call is one use of a command.
type Call struct {
	env     *Env
	ctx     context.Context
	line    *line
	name    string // the background group's, or empty
	command string
	args    []string
	options map[string]string
	err     error // the first malformed argument
}

// Context returns a context that is cancelled at the end of the story or by cancel.
func (c *Call) Context() context.Context { return c.ctx }

// Printf adds lines to the trace as the outcome of the command.
func (c *Call) Printf(format string, args ...any) { c.env.add(outcome, c.name, format, args) }

// Args returns the arguments that are not options.
func (c *Call) Args() []string { return c.args }

// Arg returns the i-th argument, or "" if the line has fewer.
func (c *Call) Arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// Has reports whether the option is given.
func (c *Call) Has(option string) bool { _, ok := c.options[option]; return ok }

// String returns an option, or otherwise if it is not given.
func (c *Call) String(option, otherwise string) string {
	return get(c, option, otherwise, func(s string) (string, error) { return s, nil })
}

// Int returns an option as a number, or otherwise if it is not given. As with all option methods, a
// malformed value fails the story when the command returns.
func (c *Call) Int(option string, otherwise int) int { return get(c, option, otherwise, strconv.Atoi) }

// Bool returns an option as a truth value, or otherwise if it is not given.
func (c *Call) Bool(option string, otherwise bool) bool {
	return get(c, option, otherwise, strconv.ParseBool)
}

// Duration returns an option as a duration, or otherwise if it is not given.
func (c *Call) Duration(option string, otherwise time.Duration) time.Duration {
	return get(c, option, otherwise, time.ParseDuration)
}

func get[T any](c *Call, option string, otherwise T, read func(string) (T, error)) T {
	text, ok := c.options[option]
	if !ok {
		return otherwise
	}
	v, err := read(text)
	if err != nil {
		if c.err == nil {
			c.err = fmt.Errorf("option %s: %w", option, err)
		}
		return otherwise
	}
	return v
}

// check compares the words of a line with what the command accepts.
func (c Command) check(name string, args []string, options map[string]string) error {
	for _, o := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(c.Options, o) {
			return fmt.Errorf("unknown option %q; usage: %s", o, c.usage(name))
		}
	}
	least, most := 0, 0
	for a := range strings.FieldsSeq(c.Args) {
		optional := strings.HasPrefix(a, "[")
		if !optional {
			least++
		}
		most++
		if strings.Contains(a, "...") {
			most = 1 << 16
		}
	}
	if len(args) < least || len(args) > most {
		return fmt.Errorf("%d arguments; usage: %s", len(args), c.usage(name))
	}
	return nil
}

func (c Command) usage(name string) string {
	words := append([]string{name}, strings.Fields(c.Args)...)
	for _, o := range c.Options {
		words = append(words, "["+o+"=…]")
	}
	return strings.Join(words, " ")
}
