package sqllog

import (
	"regexp"
	"strconv"
)

// query is a statement in the spelling of its dialect.
type query struct {
	text  string
	order []int // MySQL: which argument each placeholder stands for, from 0
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// rebind rewrites the placeholders $1, $2, … for the dialect.
func rebind(d Dialect, text string) query {
	q := query{text: text}
	switch d {
	case Postgres:
	case SQLite:
		q.text = placeholder.ReplaceAllStringFunc(text, func(p string) string { return "?" + p[1:] })
	case MySQL:
		q.text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
			n, _ := strconv.Atoi(p[1:])
			q.order = append(q.order, n-1)
			return "?"
		})
	}
	return q
}

// args orders the arguments as the statement needs them.
func (q *query) args(in ...any) []any {
	if q.order == nil {
		return in
	}
	out := make([]any, len(q.order))
	for i, from := range q.order {
		out[i] = in[from]
	}
	return out
}
