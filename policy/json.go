package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// UnmarshalJSON decodes an array of overrides such as
//
//	[{"tenant":"acme","namespace":"users:v1","ttl":"60s","local_ttl":"forever",
//	  "jitter":0.15,"admit":{"min_load":"2ms","only_ok":true},"off":false}]
//
// in which every field may be left out; the tags of [Patch] are their names. A duration is
// what [time.ParseDuration] reads, or "forever"; a bare number is refused, since it does not
// name its unit. Mistakes in a table would be silent, so unknown names, names in another
// case, repeated names and null are refused, too. The error holds every fault, each a
// [*FieldError] with the entry's index and the field. On error *t stays what it was.
// Whether the durations make sense is for [Table.Validate].
func (t *Table) UnmarshalJSON(data []byte) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil || entries == nil {
		return &FieldError{Problem: "want a JSON array of overrides"}
	}
	table, errs := make(Table, len(entries)), make([]error, len(entries))
	for i, raw := range entries {
		errs[i] = decode(fmt.Sprintf("entry %d", i), raw, &table[i])
	}
	err := errors.Join(errs...)
	if err == nil {
		*t = table
	}
	return err
}

// MarshalJSON writes what [Table.UnmarshalJSON] reads. A nil table is an empty array.
func (t Table) MarshalJSON() ([]byte, error) { return json.Marshal(append([]Override{}, t...)) }

// UnmarshalJSON decodes one entry of a table, by the rules of [Table.UnmarshalJSON].
func (o *Override) UnmarshalJSON(data []byte) error { return decode("", data, o) }

// MarshalJSON writes what [Override.UnmarshalJSON] reads.
func (o Override) MarshalJSON() ([]byte, error) { return encode(reflect.ValueOf(o)) }

// UnmarshalJSON decodes a patch, by the rules of [Table.UnmarshalJSON]. A field that is left out inherits.
func (q *Patch) UnmarshalJSON(data []byte) error { return decode("", data, q) }

// MarshalJSON writes what [Patch.UnmarshalJSON] reads, without the fields that inherit.
func (q Patch) MarshalJSON() ([]byte, error) { return encode(reflect.ValueOf(q)) }

// UnmarshalJSON decodes a policy, by the rules of [Table.UnmarshalJSON]. A
// field that is left out has its value in [Default], whatever p held before.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var q Patch
	if err := q.UnmarshalJSON(data); err != nil {
		return err
	}
	*p = q.Apply(Default())
	return nil
}

// MarshalJSON writes every field, in the form [Policy.UnmarshalJSON] reads.
func (p Policy) MarshalJSON() ([]byte, error) {
	return Patch{
		TTL: &p.TTL, NegativeTTL: &p.NegativeTTL, NegativeErrors: &p.NegativeErrors, Jitter: &p.Jitter,
		Stale: &p.Stale, StaleIfError: &p.StaleIfError, RefreshAhead: &p.RefreshAhead, LocalTTL: &p.LocalTTL,
		SoftTimeout: &p.SoftTimeout, LoadTimeout: &p.LoadTimeout, RemoteTimeout: &p.RemoteTimeout,
		Admit:         AdmitPatch{MinLoad: &p.Admit.MinLoad, OnlyOK: &p.Admit.OnlyOK},
		MaxValueBytes: &p.MaxValueBytes, Off: &p.Off,
	}.MarshalJSON()
}

// decode replaces *to, an [Override] or a [Patch], by what data says. On error *to stays what it was.
func decode[T any](where string, data []byte, to *T) error {
	var v T
	var r report
	if r.object("", data, reflect.ValueOf(&v).Elem()); len(r) > 0 {
		return join(where, r)
	}
	*to = v
	return nil
}

// object decodes the members of a JSON object into the fields that have their
// names as tags. encoding/json would take the last of repeated names and ignore
// their case.
func (r *report) object(path string, data []byte, to reflect.Value) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') || !json.Valid(data) {
		r.add(path, "want a JSON object")
		return
	}
	fields := make(map[string]reflect.Value) // invalid: already given
	for _, f := range reflect.VisibleFields(to.Type()) {
		fields[f.Tag.Get("json")] = to.FieldByIndex(f.Index)
	}
	delete(fields, "")
	for dec.More() {
		t, _ := dec.Token() // data is valid: no error
		name, _ := t.(string)
		var raw json.RawMessage
		_ = dec.Decode(&raw)
		full := strings.TrimPrefix(path+"."+shorten(name), ".")
		if field, known := fields[name]; !known {
			r.add(full, "unknown field")
		} else if !field.IsValid() {
			r.add(full, "given twice")
		} else {
			r.value(full, raw, field)
		}
		fields[name] = reflect.Value{}
	}
}

// wanted says what a field holds.
var wanted = map[reflect.Type]string{
	reflect.TypeFor[string]():         "a string",
	reflect.TypeFor[*float64]():       "a number",
	reflect.TypeFor[*int]():           "a whole number",
	reflect.TypeFor[*bool]():          "true or false",
	reflect.TypeFor[*time.Duration](): `a duration such as "60s", or "forever"`,
}

// value decodes one member. It refuses null, which encoding/json ignores: to
// inherit a value, leave the field out.
func (r *report) value(name string, raw json.RawMessage, to reflect.Value) {
	got := cmp.Or(shapes[raw[0]], "number "+shorten(string(raw)))
	var err error
	switch at := to.Addr().Interface().(type) {
	case *AdmitPatch:
		r.object(name, raw, to)
		return
	case **time.Duration:
		var s string
		if err = json.Unmarshal(raw, &s); s != "" {
			got = fmt.Sprintf("%q", shorten(s))
		}
		if *at = new(Forever); err == nil && s != forever {
			**at, err = time.ParseDuration(s)
		}
	default:
		err = json.Unmarshal(raw, at)
	}
	if err != nil || raw[0] == 'n' {
		r.add(name, "want %s, got %s", wanted[to.Type()], got)
	}
}

// shapes says what kind of JSON value begins with a byte. The others are numbers.
var shapes = map[byte]string{'"': "a string", '{': "an object", '[': "an array", 't': "true", 'f': "false", 'n': "null"}

// shorten bounds what an error repeats from its input.
func shorten(s string) string {
	if len(s) <= 40 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:40], ""), len(s))
}

// encode writes the fields that have a tag, without those that are zero.
func encode(v reflect.Value) (out []byte, err error) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, field := f.Tag.Get("json"), v.FieldByIndex(f.Index)
		if name == "" || field.IsZero() {
			continue
		}
		var b []byte
		switch x := field.Interface().(type) {
		case *time.Duration:
			b, err = json.Marshal(formatDuration(*x))
		case AdmitPatch:
			b, err = encode(reflect.ValueOf(x))
		default:
			b, err = json.Marshal(x)
		}
		if err != nil {
			return nil, &FieldError{Field: name, Problem: "has no JSON form"}
		}
		out = append(fmt.Appendf(out, ",%q:", name), b...)
	}
	return append(append([]byte{'{'}, bytes.TrimPrefix(out, []byte{','})...), '}'), nil
}

const forever = "forever" // how Forever is written

var zeros = regexp.MustCompile(`([hm])(0m)?0s$`)

// formatDuration writes "1m" where [time.Duration.String] writes "1m0s".
func formatDuration(d time.Duration) string {
	if d == Forever {
		return forever
	}
	return zeros.ReplaceAllString(d.String(), "$1")
}
