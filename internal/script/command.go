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

// Command is something that a script line can name.
type Command struct {
	// Args names the arguments, for the count and for messages: "key value",
	// "key [value]" or "key [more...]". Empty means none.
	Args string
	// Options are the names that may stand before =.
	Options []string
	// Unordered says that the command reports from several goroutines at once,
	// so that events of one instant are sorted.
	Unordered bool
	// Run does the work. It may be called by several goroutines at once when
	// the script says go. An error fails the story: what a story is meant to
	// show is printed instead.
	Run func(*Call) error
}

// Call is one use of a command.
type Call struct {
	env     *Env
	ctx     context.Context
	line    *line
	name    string // of the background group, or empty
	command string
	args    []string
	options map[string]string
	err     error // the first malformed argument
}

// Context is cancelled at the end of the story and by cancel.
func (c *Call) Context() context.Context { return c.ctx }

// Printf adds lines to the trace as the command's outcome.
func (c *Call) Printf(format string, args ...any) { c.env.add(outcome, c.name, format, args) }

// Args returns the arguments that are not options.
func (c *Call) Args() []string { return c.args }

// Arg returns the i-th argument, or "" when the line has fewer.
func (c *Call) Arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// Has reports whether the option is given.
func (c *Call) Has(option string) bool { _, ok := c.options[option]; return ok }

// String returns an option, or otherwise when it is not given.
func (c *Call) String(option, otherwise string) string {
	return get(c, option, otherwise, func(s string) (string, error) { return s, nil })
}

// Int returns an option as a number, or otherwise when it is not given. A
// malformed one fails the story when the command returns, as for the others.
func (c *Call) Int(option string, otherwise int) int { return get(c, option, otherwise, strconv.Atoi) }

// Bool returns an option as a truth value, or otherwise when it is not given.
func (c *Call) Bool(option string, otherwise bool) bool {
	return get(c, option, otherwise, strconv.ParseBool)
}

// Duration returns an option as a duration, or otherwise when it is not given.
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

// check holds the words of a line against what the command takes.
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
