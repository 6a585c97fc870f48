package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate reports every fault that the table can lead to on top of base. The error is an
// [errors.Join] of [*FieldError]s that name the override and the field. Faults are two overrides
// for the same scope, a name that no tenant or namespace can have, and an invalid policy that the table makes of
// base. Two valid overrides can be invalid together, so Validate checks each override of a
// namespace with each override of a tenant. It reports a fault once, for the override where it
// first occurs.
func (t Table) Validate(base Policy) error {
	c := checker{table: t, base: base, at: make(map[scope][]int, len(t)), seen: make(map[scope]report)}
	c.index()
	c.check(scope{})
	for _, o := range t {
		if (o.Tenant == "") != (o.Namespace == "") {
			c.check(scope{o.Tenant, o.Namespace})
		}
	}
	for _, o := range t {
		if o.Tenant != "" && o.Namespace != "" {
			c.check(scope{o.Tenant, o.Namespace})
		}
	}
	c.meetings()
	return errors.Join(c.errs...)
}

// checker walks the policies that a table can produce, the least specific first.
type checker struct {
	table Table
	base  Policy
	at    map[scope][]int  // indexes of the overrides for a scope
	seen  map[scope]report // faults by scope; no entry means no fault
	errs  []error
}

func (c *checker) index() {
	for i, o := range c.table {
		s := scope{o.Tenant, o.Namespace}
		c.at[s] = append(c.at[s], i)
		if first := c.at[s][0]; first != i {
			c.fail(i, "same tenant and namespace as override %d", first)
			continue
		}
		switch {
		case strings.Contains(o.Tenant, ":"):
			c.fail(i, "a tenant never contains ':', so this matches no tenant")
		case unnameable(o.Tenant):
			c.fail(i, "a tenant is valid UTF-8 without braces and control characters, so this matches no tenant")
		case unnameable(o.Namespace):
			c.fail(i, "a namespace is valid UTF-8 without braces and control characters, so this matches no cache")
		}
	}
}

// unnameable reports whether no tenant or namespace has the name. Package key has the rules.
func unnameable(name string) bool {
	return !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '{' || r == '}' })
}

func (c *checker) fail(i int, format string, args ...any) {
	c.errs = append(c.errs, &FieldError{Where: c.name(i), Problem: fmt.Sprintf(format, args...)})
}

// check validates the policy of s, and reports the faults that no wider scope has reported.
func (c *checker) check(s scope) {
	own := report(c.policyOf(s).faults())
	if _, again := c.seen[s]; again || len(own) == 0 {
		return
	}
	c.seen[s] = own
	fresh := own
	for _, wider := range [...]scope{{}, {namespace: s.namespace}, {tenant: s.tenant}} {
		if wider != s {
			fresh = slices.DeleteFunc(slices.Clone(fresh), func(f FieldError) bool {
				return slices.Contains(c.seen[wider], f)
			})
		}
	}
	if len(fresh) > 0 {
		c.errs = append(c.errs, join(c.where(s), fresh))
	}
}

// policyOf returns what Table.For does. It looks overrides up, because meetings asks for many pairs.
func (c *checker) policyOf(s scope) Policy {
	return s.over(c.base, func(p Policy, s scope) Policy {
		for _, i := range c.at[s] {
			p = c.table[i].Apply(p)
		}
		return p
	})
}

// meetings checks each override of a namespace with each override of a tenant, unless an override
// names both. Those were checked already.
func (c *checker) meetings() {
	for _, n := range c.table {
		if n.Tenant != "" || n.Namespace == "" {
			continue
		}
		for _, t := range c.table {
			s := scope{t.Tenant, n.Namespace}
			if _, own := c.at[s]; t.Tenant != "" && t.Namespace == "" && !own {
				c.check(s)
			}
		}
	}
}

// where names the override or the two overrides that make the policy of s.
func (c *checker) where(s scope) string {
	if own := c.at[s]; len(own) > 0 {
		return c.name(own[0])
	}
	if s == (scope{}) {
		return "base"
	}
	n, t := c.at[scope{namespace: s.namespace}], c.at[scope{tenant: s.tenant}]
	return c.name(n[0]) + " with " + c.name(t[0])
}

func (c *checker) name(i int) string {
	return fmt.Sprintf("override %d (%v)", i, scope{c.table[i].Tenant, c.table[i].Namespace})
}
