package sqltext

import (
	"regexp"
	"strconv"
	"strings"
)

// Query is a statement in the spelling of its dialect.
type Query struct {
	Text  string
	order []int // MariaDB: which argument each placeholder stands for, from 0
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// Rebind rewrites the placeholders $1, $2, … for the dialect.
func Rebind(dialect, text string) Query {
	q := Query{Text: text}
	switch dialect {
	case SQLite:
		q.Text = placeholder.ReplaceAllStringFunc(text, func(p string) string { return "?" + p[1:] })
	case MariaDB:
		q.Text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
			n, _ := strconv.Atoi(p[1:])
			q.order = append(q.order, n-1)
			return "?"
		})
	}
	return q
}

// Args orders the arguments as the statement needs them.
func (q *Query) Args(first string, rest []any) []any {
	in := append([]any{first}, rest...)
	if q.order == nil {
		return in
	}
	out := make([]any, len(q.order))
	for i, from := range q.order {
		out[i] = in[from]
	}
	return out
}

// Fill replaces {name} by values, and does not look into the values.
func Fill(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
