package policy

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrInvalid is wrapped by every error of this package.
var ErrInvalid = errors.New("policy: invalid")

// FieldError is one fault. It unwraps to [ErrInvalid].
type FieldError struct {
	// Where names the override or table entry at fault, as in `entry 2` or
	// `tenant "acme"`. It is empty for a policy without a table.
	Where string

	// Field is the Go name of the field ("MinLoad"), or its JSON name ("min_load") if the fault
	// was found while decoding. It is empty if the whole entry is at fault, or the field is
	// unknown.
	Field string

	// Problem says what is wrong and how to correct it.
	Problem string
}

// Error returns "policy: where: field: problem".
func (e *FieldError) Error() string {
	s := "policy: "
	if e.Where != "" {
		s += e.Where + ": "
	}
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Problem
}

// Unwrap returns [ErrInvalid].
func (e *FieldError) Unwrap() error { return ErrInvalid }

// Validate reports every fault of p, as an [errors.Join] of [*FieldError]s. It returns nil if
// there is none. It allocates only for faults.
func (p Policy) Validate() error {
	return join("", p.faults())
}

func join(where string, faults []FieldError) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		f.Where = where
		errs[i] = &f
	}
	return errors.Join(errs...)
}

// report collects faults. A fault is comparable, because a table must recognize an inherited one.
type report []FieldError

func (r *report) add(field, format string, args ...any) {
	*r = append(*r, FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (p Policy) faults() []FieldError {
	var r report
	p.checkSigns(&r)
	p.checkRatios(&r)
	p.checkRequired(&r)
	p.checkTogether(&r)
	return r
}

func (p Policy) checkSigns(r *report) {
	for _, f := range [...]struct {
		name string
		d    time.Duration
	}{
		{"TTL", p.TTL},
		{"NegativeTTL", p.NegativeTTL},
		{"ErrorTTL", p.ErrorTTL},
		{"Stale", p.Stale},
		{"StaleIfError", p.StaleIfError},
		{"Throttle", p.Throttle},
		{"SoftTimeout", p.SoftTimeout},
		{"LoadTimeout", p.LoadTimeout},
		{"LocalTTL", p.LocalTTL},
		{"ReplicaLag", p.ReplicaLag},
		{"MinLoad", p.MinLoad},
		{"RemoteTimeout", p.RemoteTimeout},
	} {
		if f.d < 0 {
			r.add(f.name, "%v is negative; want a duration of 0 or more", f.d)
		}
	}
	if p.MaxRefreshes < 0 {
		r.add("MaxRefreshes", "%d is negative; want 0 or more; 0 means only the limit of the tiers", p.MaxRefreshes)
	}
}

func (p Policy) checkRatios(r *report) {
	// Written in this form because NaN, which compares false with everything, must be a fault.
	if !(p.Jitter >= 0 && p.Jitter < 1) {
		r.add("Jitter", "%v is not in [0, 1); 0.15 spreads by 15 %%", p.Jitter)
	}
	if !(p.Audit >= 0 && p.Audit <= 1) {
		r.add("Audit", "%v is not in [0, 1]; 0.001 compares one hit in a thousand", p.Audit)
	}
	if !(p.RefreshAhead >= 0) || math.IsInf(p.RefreshAhead, 1) {
		r.add("RefreshAhead", "%v is not a finite number of 0 or more; 1 is the usual factor", p.RefreshAhead)
	}
}

// minRemoteTimeout is less than any round trip takes, also to a server on the same machine.
const minRemoteTimeout = 10 * time.Microsecond

func (p Policy) checkRequired(r *report) {
	if p.TTL == 0 {
		r.add("TTL", "0 would keep nothing; set Off to turn the cache off")
	}
	if p.LoadTimeout == 0 {
		r.add("LoadTimeout", "0 would let a load hang for ever; set the longest time that a load may take")
	}
	if p.RemoteTimeout == 0 {
		r.add("RemoteTimeout", "0 would fail every call to the remote tier; set the longest time that a call may take")
	}
	if p.RemoteTimeout > 0 && p.RemoteTimeout < minRemoteTimeout {
		r.add("RemoteTimeout", "%v is too short for any answer; 50ms is the default", p.RemoteTimeout)
	}
	if p.MaxValueBytes <= 0 {
		r.add("MaxValueBytes", "%d would store nothing; set the longest value in bytes, or Off to turn the cache off", p.MaxValueBytes)
	}
}

// checkTogether finds faults between fields that are valid by themselves. It skips fields with
// another fault, so one mistake is reported once.
func (p Policy) checkTogether(r *report) {
	if p.SoftTimeout > 0 {
		if p.LoadTimeout > 0 && p.SoftTimeout > p.LoadTimeout {
			r.add("SoftTimeout", "%v is above LoadTimeout %v, which ends the load first; set it below", p.SoftTimeout, p.LoadTimeout)
		}
		if p.Stale == 0 && p.StaleIfError == 0 {
			r.add("SoftTimeout", "there is nothing to serve after it: set Stale or StaleIfError, too")
		}
	}
	if p.LoadTimeout > 0 && p.MinLoad > p.LoadTimeout {
		r.add("MinLoad", "%v is above LoadTimeout %v, so no load would be stored; set it below, or Off to turn the cache off", p.MinLoad, p.LoadTimeout)
	}
	jitter := p.Jitter
	if !(jitter >= 0 && jitter < 1) {
		jitter = 0
	}
	p.checkResolution(r, jitter)
}

// checkResolution finds times that a cell, with its resolution of a millisecond, would round to
// zero. Such a field would be set without effect.
func (p Policy) checkResolution(r *report, jitter float64) {
	for _, f := range [...]struct {
		name string
		d    time.Duration
		j    float64
	}{
		{"TTL", p.TTL, jitter},
		{"NegativeTTL", p.NegativeTTL, jitter},
		{"ErrorTTL", p.ErrorTTL, jitter},
		{"Stale", p.Stale, 0},
		{"StaleIfError", p.StaleIfError, 0},
	} {
		if f.d > 0 && float64(f.d)*(1-f.j) < float64(Resolution) {
			r.add(f.name, "%v with jitter %v can fall below %v, the resolution of the remote tier; set it higher", f.d, f.j, Resolution)
		}
	}
}
