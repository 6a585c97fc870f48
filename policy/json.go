package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// UnmarshalJSON decodes an array of overrides such as
//
//	[{"tenant":"acme","namespace":"users:v1","ttl":"60s","negative_ttl":"3s",
//	  "negative_errors":"1s","jitter":0.15,"stale":"1m","stale_if_error":"1h",
//	  "refresh_ahead":1,"soft_timeout":"50ms","load_timeout":"30s",
//	  "local_ttl":"5s","admit":{"min_load":"2ms","only_ok":true},
//	  "max_value_bytes":1048576,"remote_timeout":"50ms","off":false}]
//
// in which every field may be left out. Durations are what
// [time.ParseDuration] reads, or "forever"; a bare number is refused, for it
// does not say whether it means seconds. Since a table is written by hand and
// a mistake in it would be silent, so is everything else that encoding/json
// lets pass: unknown names, names in another case, repeated names, null. The
// error holds every fault, each a [*FieldError] with the entry's index and the
// field, and on error *t stays what it was.
//
// It does not check whether the durations make sense: see [Table.Validate].
func (t *Table) UnmarshalJSON(data []byte) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil || entries == nil {
		return &FieldError{Problem: "want a JSON array of overrides"}
	}
	table := make(Table, len(entries))
	var errs []error
	for i, raw := range entries {
		if faults := table[i].decode(raw); len(faults) > 0 {
			errs = append(errs, join(fmt.Sprintf("entry %d", i), faults))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*t = table
	return nil
}

// MarshalJSON writes what [Table.UnmarshalJSON] reads. A nil table is an empty
// array.
func (t Table) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Override(t))
}

// UnmarshalJSON decodes one entry of a table, by the rules of
// [Table.UnmarshalJSON].
func (o *Override) UnmarshalJSON(data []byte) error {
	var v Override
	if faults := v.decode(data); len(faults) > 0 {
		return join("", faults)
	}
	*o = v
	return nil
}

// MarshalJSON writes what [Override.UnmarshalJSON] reads.
func (o Override) MarshalJSON() ([]byte, error) {
	var w writer
	if o.Tenant != "" {
		w.field("tenant", o.Tenant)
	}
	if o.Namespace != "" {
		w.field("namespace", o.Namespace)
	}
	w.patch(&o.Patch)
	return w.bytes()
}

// UnmarshalJSON decodes a patch, by the rules of [Table.UnmarshalJSON]. A
// field that is left out inherits.
func (q *Patch) UnmarshalJSON(data []byte) error {
	var v Patch
	if faults := decodeObject(data, v.field); len(faults) > 0 {
		return join("", faults)
	}
	*q = v
	return nil
}

// MarshalJSON writes what [Patch.UnmarshalJSON] reads, without the fields that
// inherit.
func (q Patch) MarshalJSON() ([]byte, error) {
	var w writer
	w.patch(&q)
	return w.bytes()
}

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
		TTL: &p.TTL, NegativeTTL: &p.NegativeTTL, NegativeErrors: &p.NegativeErrors,
		Jitter: &p.Jitter, Stale: &p.Stale, StaleIfError: &p.StaleIfError,
		RefreshAhead: &p.RefreshAhead, SoftTimeout: &p.SoftTimeout,
		LoadTimeout: &p.LoadTimeout, LocalTTL: &p.LocalTTL,
		Admit:         AdmitPatch{MinLoad: &p.Admit.MinLoad, OnlyOK: &p.Admit.OnlyOK},
		MaxValueBytes: &p.MaxValueBytes, RemoteTimeout: &p.RemoteTimeout, Off: &p.Off,
	}.MarshalJSON()
}

func (o *Override) decode(data []byte) report {
	return decodeObject(data, func(r *report, name string, raw json.RawMessage) {
		switch name {
		case "tenant":
			decodeName(r, name, raw, &o.Tenant)
		case "namespace":
			decodeName(r, name, raw, &o.Namespace)
		default:
			o.field(r, name, raw)
		}
	})
}

// decodeObject hands each member of a JSON object to member, once.
// encoding/json would take the last of repeated names and fold their case.
func decodeObject(data []byte, member func(r *report, name string, raw json.RawMessage)) report {
	var r report
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		r.add("", "want a JSON object")
		return r
	}
	seen := make(map[string]bool)
	for dec.More() {
		name, err := dec.Token()
		var raw json.RawMessage
		if err == nil {
			err = dec.Decode(&raw)
		}
		if err != nil {
			r.add("", "not well-formed JSON")
			return r
		}
		key, _ := name.(string)
		if seen[key] {
			r.add(shorten(key), "given twice")
			continue
		}
		seen[key] = true
		member(&r, key, raw)
	}
	if _, err := dec.Token(); err != nil {
		r.add("", "not well-formed JSON")
	} else if _, err := dec.Token(); err != io.EOF {
		r.add("", "data behind the JSON object")
	}
	return r
}
