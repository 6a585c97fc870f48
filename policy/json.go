package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// UnmarshalJSON decodes an array of overrides such as
//
//	[{"tenant":"acme","namespace":"users:v1","ttl":"60s","local_ttl":"forever",
//	  "jitter":0.15,"max_refreshes":4,"off":false}]
//
// The names are those of the fields in snake case: StaleIfError is "stale_if_error". A field that
// is missing or null inherits. A duration is text that [time.ParseDuration] reads, or "forever".
// A number is refused as a duration, because it has no unit. An unknown field is refused too, and
// one that stands twice. The
// other rules are those of encoding/json.
//
// The error holds the first fault of every entry, each a [*FieldError]. After an error *t is
// unchanged. [Table.Validate] checks the values.
func (t *Table) UnmarshalJSON(data []byte) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil || entries == nil {
		return &FieldError{Problem: "want a JSON array of overrides"}
	}
	table, errs := make(Table, len(entries)), make([]error, len(entries))
	for i, raw := range entries {
		table[i], errs[i] = decode(fmt.Sprintf("entry %d", i), raw)
	}
	err := errors.Join(errs...)
	if err == nil {
		*t = table
	}
	return err
}

// MarshalJSON writes the form that [Table.UnmarshalJSON] reads. A nil table is an empty array.
func (t Table) MarshalJSON() ([]byte, error) { return json.Marshal(append([]Override{}, t...)) }

// UnmarshalJSON decodes one entry of a table, by the rules of [Table.UnmarshalJSON].
func (o *Override) UnmarshalJSON(data []byte) error {
	v, err := decode("", data)
	if err == nil {
		*o = v
	}
	return err
}

// MarshalJSON writes the form that [Override.UnmarshalJSON] reads, without the fields that
// inherit.
func (o Override) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(overrideJSON{o.Tenant, o.Namespace, *recast[patchJSON](&o.Patch)})
	if err != nil {
		return nil, &FieldError{Problem: fmt.Sprintf("has no JSON form: %v", err)}
	}
	return b, nil
}

// UnmarshalJSON decodes a patch, by the rules of [Table.UnmarshalJSON].
func (q *Patch) UnmarshalJSON(data []byte) error {
	v, err := decode("", data)
	switch {
	case err != nil:
		return err
	case v.Tenant != "" || v.Namespace != "":
		return &FieldError{Problem: "a patch has no tenant and no namespace; only the entries of a table have"}
	}
	*q = v.Patch
	return nil
}

// MarshalJSON writes the form that [Patch.UnmarshalJSON] reads, without the fields that inherit.
func (q Patch) MarshalJSON() ([]byte, error) { return Override{Patch: q}.MarshalJSON() }

// UnmarshalJSON decodes a policy, by the rules of [Table.UnmarshalJSON]. A missing field gets its
// value from [Default], not from p.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var q Patch
	err := q.UnmarshalJSON(data)
	if err == nil {
		*p = q.Apply(Default())
	}
	return err
}

// MarshalJSON writes every field, in the form that [Policy.UnmarshalJSON] reads.
func (p Policy) MarshalJSON() ([]byte, error) { return recast[Patch](&p).MarshalJSON() }

// overrideJSON is the JSON form of an [Override], and patchJSON that of a [Patch].
type overrideJSON struct {
	Tenant    string `json:"tenant,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	patchJSON
}

type patchJSON struct {
	TTL           *duration `json:"ttl,omitempty"`
	Jitter        *float64  `json:"jitter,omitempty"`
	NegativeTTL   *duration `json:"negative_ttl,omitempty"`
	ErrorTTL      *duration `json:"error_ttl,omitempty"`
	Stale         *duration `json:"stale,omitempty"`
	StaleIfError  *duration `json:"stale_if_error,omitempty"`
	Throttle      *duration `json:"throttle,omitempty"`
	RefreshAhead  *float64  `json:"refresh_ahead,omitempty"`
	MaxRefreshes  *int      `json:"max_refreshes,omitempty"`
	SoftTimeout   *duration `json:"soft_timeout,omitempty"`
	LoadTimeout   *duration `json:"load_timeout,omitempty"`
	Detached      *bool     `json:"detached,omitempty"`
	LocalTTL      *duration `json:"local_ttl,omitempty"`
	ReplicaLag    *duration `json:"replica_lag,omitempty"`
	MinLoad       *duration `json:"min_load,omitempty"`
	MaxValueBytes *int      `json:"max_value_bytes,omitempty"`
	RemoteTimeout *duration `json:"remote_timeout,omitempty"`
	Audit         *float64  `json:"audit,omitempty"`
	Off           *bool     `json:"off,omitempty"`
}

// recast returns a To with pointers to the fields of from, or copies of the pointers if the
// fields are pointers. Both types have the same fields in the same order; a test checks that.
func recast[To, From any](from *From) *To {
	to := new(To)
	f, t := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range t.NumField() {
		v := f.Field(i)
		if v.Kind() != reflect.Pointer {
			v = v.Addr()
		}
		t.Field(i).Set(v.Convert(t.Field(i).Type()))
	}
	return to
}

// decode decodes an override. Errors name it by where.
func decode(where string, data []byte) (o Override, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var form *overrideJSON
	if field := repeated(data); field != "" {
		return o, &FieldError{Where: where, Field: field, Problem: "stands twice; leave one of them out"}
	}
	switch err = dec.Decode(&form); {
	case err != nil:
		return o, fault(where, err)
	case form == nil:
		return o, &FieldError{Where: where, Problem: "want a JSON object, got null"}
	case len(bytes.TrimSpace(data[dec.InputOffset():])) > 0:
		return o, &FieldError{Where: where, Problem: "want one JSON object, got more data after it"}
	}
	return Override{form.Tenant, form.Namespace, *recast[Patch](&form.patchJSON)}, nil
}

// repeated returns the first field of a JSON object that stands in it twice, or "". encoding/json would take the last
// one. It also takes names in other case.
func repeated(data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	var seen []string
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return ""
		}
		if slices.ContainsFunc(seen, func(s string) bool { return strings.EqualFold(s, name) }) {
			return name
		}
		seen = append(seen, name)
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return ""
		}
	}
	return ""
}

// fault translates an error of encoding/json into a FieldError.
func fault(where string, err error) error {
	f := &FieldError{Where: where, Problem: shorten(strings.TrimPrefix(err.Error(), "json: "), 80)}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f.Field = t.Field[strings.LastIndexByte(t.Field, '.')+1:]
		f.Problem = fmt.Sprintf("want %s, got %s", wanted[t.Type.Kind()], shorten(t.Value, 80))
	} else if strings.HasPrefix(f.Problem, "unknown field") {
		f.Problem += "; the names are those of policy.Policy in snake case"
	}
	return f
}

// wanted describes the value that a field needs, by kind. A struct is the whole entry. A pointer
// is a duration: encoding/json reports other pointers as the type that they point to.
var wanted = map[reflect.Kind]string{
	reflect.Struct:  "a JSON object",
	reflect.String:  "a string",
	reflect.Float64: "a number",
	reflect.Int:     "a whole number",
	reflect.Bool:    "true or false",
	reflect.Pointer: `a duration such as "60s", or "forever"`,
}

// duration is a [time.Duration] with the JSON form of this package.
type duration time.Duration

const forever = "forever" // the text of Forever

func (d *duration) UnmarshalText(b []byte) error {
	*d = duration(Forever)
	if string(b) == forever {
		return nil
	}
	v, err := time.ParseDuration(string(b))
	if *d = duration(v); err != nil {
		// An UnmarshalTypeError, because encoding/json adds the field's name to it.
		return &json.UnmarshalTypeError{Value: strconv.Quote(shorten(string(b), 40)), Type: reflect.TypeFor[*duration]()}
	}
	return nil
}

var zeros = regexp.MustCompile(`([hm])(0m)?0s$`)

// MarshalText writes "1m" where [time.Duration.String] writes "1m0s".
func (d duration) MarshalText() ([]byte, error) {
	if d == duration(Forever) {
		return []byte(forever), nil
	}
	return []byte(zeros.ReplaceAllString(time.Duration(d).String(), "$1")), nil
}

// shorten limits how much of its input an error repeats.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}
