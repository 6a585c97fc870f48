package resident

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// namespaces holds the namespaces of the caches of one Tiers. The lock of the Tiers protects it.
type namespaces map[string]*namespace

// namespace is what the caches of one namespace share.
type namespace struct {
	use
	bases     []policy.Policy // of its caches, before the table of overrides
	refreshes atomic.Int64    // background refreshes that run, for all tenants
	remarks   Remarks
}

// use holds what the caches of one namespace must agree on. Otherwise one cache would misread
// what another wrote.
type use struct {
	key, value    reflect.Type
	codec, schema string
	localOnly     bool // despite a remote tier
	tagged        bool // Config.Tags is set
	hashed        bool // the keys
}

// clash returns why a cache cannot use the namespace in this way, or nil.
func (n namespaces) clash(namespace string, u use) error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("field Namespace: "+format, args...))
	}
	if old, taken := n[namespace]; taken {
		if old.localOnly != u.localOnly {
			errs = append(errs, fmt.Errorf("field LocalOnly: %v here, but %v for another cache of %q on these Tiers, and one would not remove what the other stores in the remote tier: use one value for both",
				u.localOnly, old.localOnly, namespace))
		}
		if old.tagged != u.tagged {
			errs = append(errs, fmt.Errorf("field Tags: set for one cache of %q on these Tiers, and not for another, whose values no Invalidate of such a tag would reach: give both the same Tags",
				namespace))
		}
		for _, part := range []struct {
			what      string
			old, want any
		}{
			{"keys of type", old.key, u.key},
			{"values of type", old.value, u.value},
			{"values of codec", old.codec, u.codec},
			{"values of schema", old.schema, u.schema},
		} {
			if part.old != part.want {
				a, b := spell(part.old), spell(part.want)
				if a == b {
					b = "another type of that name"
				}
				fault("%q holds %s %s for another cache of these Tiers, and here %s: give one of them a namespace of its own",
					namespace, part.what, a, b)
			}
		}
	}
	for other := range n {
		short, long := min(namespace, other), max(namespace, other) // a prefix sorts first
		if short != long && strings.HasPrefix(long, short+":") {
			fault("%q and %q are both used on these Tiers, and All and DeleteAll of the first would reach the second: rename the second to %q",
				short, long, short+"-"+strings.ReplaceAll(long[len(short)+1:], ":", "-"))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// spell spells a part of a use for an error text.
func spell(part any) string {
	switch p := part.(type) {
	case reflect.Type:
		if p.PkgPath() != "" {
			return p.PkgPath() + "." + p.Name()
		}
		return p.String()
	case string:
		return fmt.Sprintf("%.100q", p)
	}
	return fmt.Sprint(part)
}

// add notes a cache with a policy.
func (n namespaces) add(name string, u use, base policy.Policy) *namespace {
	s := n[name]
	if s == nil {
		s = &namespace{use: u}
		n[name] = s
	}
	if !slices.Contains(s.bases, base) {
		s.bases = append(s.bases, base)
	}
	return s
}

// checkNames checks the two names of a Config one by one and says how to repair each.
func checkNames(tenant, namespace string) error {
	const some = "x" // stands for the other name, which is checked separately
	byTenant := faultOf("Tenant", key.Space{Tenant: tenant, Namespace: some}.Validate())
	byNamespace := faultOf("Namespace", key.Space{Tenant: some, Namespace: namespace}.Validate())
	if byTenant == nil && byNamespace == nil {
		return faultOf("Namespace", key.Space{Tenant: tenant, Namespace: namespace}.Validate())
	}
	return errors.Join(byTenant, byNamespace)
}

// faultOf adds the field and the remedy to an error about a name.
func faultOf(field string, err error) error {
	var remedy string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, key.ErrEmpty):
		remedy = `say what the values are, for example "users:v1"`
	case errors.Is(err, key.ErrSeparator) && field == "Tenant":
		remedy = "a tenant has no colon"
	case errors.Is(err, key.ErrSeparator):
		remedy = "colons stand between its parts, one at a time"
	case errors.Is(err, key.ErrCharacter):
		remedy = "leave out braces and control characters"
	case errors.Is(err, key.ErrTooLong):
		remedy = "make it shorter"
	default:
		remedy = "choose another"
	}
	return fmt.Errorf("field %s: %w: %s", field, err, remedy)
}
