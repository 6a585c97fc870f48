package script

import (
	"context"
	"maps"
)

// Exported for the tests, which are outside the package.
var (
	Compare = compare
	Merge   = merge
)

// Check parses data and checks it against commands, without running any.
func Check(file, data string, commands map[string]Command) error {
	s, err := parse(file, data)
	if err != nil {
		return err
	}
	p := &player{ctx: context.Background(), env: &Env{}}
	p.commands = p.builtins()
	maps.Copy(p.commands, commands)
	_, err = p.resolve(s.lines)
	return err
}
