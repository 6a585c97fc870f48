package invalidate_test

import (
	"slices"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func TestRegistryScopes(t *testing.T) {
	space := key.Space{Tenant: "acme", Namespace: "users"}
	k7, err := space.Key("7")
	if err != nil {
		t.Fatal(err)
	}
	hashed := invalidate.HashEntity(invalidate.TagHash("acme", "team"))
	for name, tt := range map[string]struct {
		scope invalidate.Scope
		want  []string
	}{
		"key":             {invalidate.Key(k7), []string{"acme:users:7"}},
		"prefix":          {invalidate.Prefix("acme", "users:"), []string{"acme:users:7", "acme:users:77", "acme:users:8"}},
		"all":             {invalidate.All(), []string{"acme:posts:1", "acme:users:7", "acme:users:77", "acme:users:8", "other:users:7"}},
		"tag, both ways":  {invalidate.Tag("acme", "team"), []string{"acme:users:7", "acme:users:77", "acme:users:8"}},
		"another's tag":   {invalidate.Tag("other", "team"), []string{"other:users:7"}},
		"an unknown tag":  {invalidate.Tag("acme", "none"), nil},
		"no scope at all": {invalidate.Strict, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := invalidate.NewRegistry(invalidate.RegistryConfig{})
			register(t, r, "acme:users:7", invalidate.TagEntity("acme", "team"))
			register(t, r, "acme:users:77", hashed)
			register(t, r, "acme:users:8", invalidate.TagEntity("acme", "team"), hashed)
			register(t, r, "acme:posts:1", invalidate.TagEntity("acme", "post"))
			register(t, r, "other:users:7", invalidate.TagEntity("other", "team"))
			if got := r.Covered(tt.scope); !slices.Equal(got, tt.want) {
				t.Errorf("Covered = %q, want %q", got, tt.want)
			}
			before := r.Newest()
			register(t, r, "acme:users:8", hashed) // loaded after the invalidation
			late := 0
			if slices.Contains(tt.want, "acme:users:8") {
				late = 1
			}
			if got := r.Forget(tt.scope, before); got != len(tt.want)-late {
				t.Errorf("Forget = %d, want %d", got, len(tt.want)-late)
			}
			if got := len(r.Covered(tt.scope)); got != late {
				t.Errorf("%d keys are left, want %d", got, late)
			}
			if keys, _, _ := r.Len(); keys != 5-len(tt.want)+late {
				t.Errorf("%d keys are left in all", keys)
			}
		})
	}
}

func TestHashEntity(t *testing.T) {
	if got := invalidate.HashEntity(0xabc); got != ":#0000000000000abc" {
		t.Errorf("HashEntity = %q", got)
	}
}
