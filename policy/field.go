package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// fields maps a patch to JSON, in the order it is written: the name and where
// the value lives. Both directions read it, so they cannot drift apart. The
// accessors return pointers to the patch's own pointer fields.
var fields = []struct {
	name string
	at   func(*Patch) any
}{
	{"ttl", func(q *Patch) any { return &q.TTL }},
	{"negative_ttl", func(q *Patch) any { return &q.NegativeTTL }},
	{"negative_errors", func(q *Patch) any { return &q.NegativeErrors }},
	{"jitter", func(q *Patch) any { return &q.Jitter }},
	{"stale", func(q *Patch) any { return &q.Stale }},
	{"stale_if_error", func(q *Patch) any { return &q.StaleIfError }},
	{"refresh_ahead", func(q *Patch) any { return &q.RefreshAhead }},
	{"soft_timeout", func(q *Patch) any { return &q.SoftTimeout }},
	{"load_timeout", func(q *Patch) any { return &q.LoadTimeout }},
	{"local_ttl", func(q *Patch) any { return &q.LocalTTL }},
	{"admit", func(q *Patch) any { return &q.Admit }},
	{"max_value_bytes", func(q *Patch) any { return &q.MaxValueBytes }},
	{"remote_timeout", func(q *Patch) any { return &q.RemoteTimeout }},
	{"off", func(q *Patch) any { return &q.Off }},
}

// field decodes one member into the patch.
func (q *Patch) field(r *report, name string, raw json.RawMessage) {
	for _, f := range fields {
		if f.name == name {
			decodeValue(r, name, raw, f.at(q))
			return
		}
	}
	r.add(shorten(name), "unknown field")
}

func (a *AdmitPatch) field(r *report, name string, raw json.RawMessage) {
	switch name {
	case "min_load":
		decodeValue(r, "admit.min_load", raw, &a.MinLoad)
	case "only_ok":
		decodeValue(r, "admit.only_ok", raw, &a.OnlyOK)
	default:
		r.add("admit."+shorten(name), "unknown field")
	}
}

func decodeValue(r *report, name string, raw json.RawMessage, at any) {
	switch at := at.(type) {
	case **time.Duration:
		decodeDuration(r, name, raw, at)
	case **float64:
		decodeStrict(r, name, raw, at, "a number")
	case **int:
		decodeStrict(r, name, raw, at, "a whole number")
	case **bool:
		decodeStrict(r, name, raw, at, "true or false")
	case *AdmitPatch:
		for _, f := range decodeObject(raw, at.field) {
			if f.Field == "" {
				f.Field = name
			} else if !strings.HasPrefix(f.Field, name+".") {
				f.Field = name + "." + f.Field
			}
			*r = append(*r, f)
		}
	}
}

func decodeName(r *report, name string, raw json.RawMessage, at *string) {
	p := at
	decodeStrict(r, name, raw, &p, "a string")
	if p != nil {
		*at = *p
	}
}

// decodeStrict decodes raw into a fresh value. null, which encoding/json
// ignores, is refused: who wants to inherit leaves the field out.
func decodeStrict[T any](r *report, name string, raw json.RawMessage, at **T, want string) bool {
	v := new(T)
	if string(raw) == "null" || json.Unmarshal(raw, v) != nil {
		r.add(name, "want %s, got %s", want, shape(raw))
		return false
	}
	*at = v
	return true
}

func decodeDuration(r *report, name string, raw json.RawMessage, at **time.Duration) {
	const want = `a duration such as "60s", or "forever"`
	var s *string
	if !decodeStrict(r, name, raw, &s, want) {
		return
	}
	d, err := parseDuration(*s)
	if err != nil {
		r.add(name, "want %s, got %q", want, shorten(*s))
		return
	}
	*at = &d
}

const forever = "forever"

func parseDuration(s string) (time.Duration, error) {
	if s == forever {
		return Forever, nil
	}
	return time.ParseDuration(s)
}

// formatDuration writes "1m" where [time.Duration.String] writes "1m0s".
func formatDuration(d time.Duration) string {
	if d == Forever {
		return forever
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// shape says what kind of JSON value raw is, not what it holds.
func shape(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f', 'n':
		return string(raw)
	}
	return "number " + shorten(string(raw))
}

// shorten bounds what an error repeats from its input.
func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}

// writer builds one JSON object.
type writer struct {
	buf bytes.Buffer
	err error
}

func (w *writer) field(name string, v any) {
	if w.buf.Len() > 0 {
		w.buf.WriteByte(',')
	}
	b, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = &FieldError{Field: name, Problem: "has no JSON form"}
	}
	w.buf.WriteString(`"` + name + `":`)
	w.buf.Write(b)
}

func (w *writer) patch(q *Patch) {
	for _, f := range fields {
		w.value(f.name, f.at(q))
	}
}

func (w *writer) value(name string, at any) {
	switch at := at.(type) {
	case **time.Duration:
		if *at != nil {
			w.field(name, formatDuration(**at))
		}
	case **float64:
		writeField(w, name, *at)
	case **int:
		writeField(w, name, *at)
	case **bool:
		writeField(w, name, *at)
	case *AdmitPatch:
		var sub writer
		sub.value("min_load", &at.MinLoad)
		sub.value("only_ok", &at.OnlyOK)
		if sub.buf.Len() > 0 {
			b, _ := sub.bytes() // durations and bools always have a JSON form
			w.field(name, json.RawMessage(b))
		}
	}
}

func writeField[T any](w *writer, name string, v *T) {
	if v != nil {
		w.field(name, *v)
	}
}

func (w *writer) bytes() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return append(append([]byte{'{'}, w.buf.Bytes()...), '}'), nil
}
