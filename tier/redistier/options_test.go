package redistier_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/tier/redistier"
)

// Every type of options gets the same values, and keeps the fields that are set.
func TestOptions(t *testing.T) {
	testOptions(t, &redis.Options{Addr: "a:1", PoolSize: 7, MaxRetries: 2, DialTimeout: 3 * time.Second})
	testOptions(t, &redis.ClusterOptions{Addrs: []string{"a:1"}, PoolSize: 7, MaxRetries: 2, DialTimeout: 3 * time.Second})
	testOptions(t, &redis.FailoverOptions{MasterName: "m", PoolSize: 7, MaxRetries: 2, DialTimeout: 3 * time.Second})
	testOptions(t, &redis.UniversalOptions{Addrs: []string{"a:1"}, PoolSize: 7, MaxRetries: 2, DialTimeout: 3 * time.Second})
}

func testOptions[O redis.Options | redis.ClusterOptions | redis.FailoverOptions | redis.UniversalOptions](t *testing.T, opts *O) {
	t.Helper()
	before := *opts
	check := func(got *O, want map[string]any) {
		t.Helper()
		for name, v := range want {
			if f := reflect.ValueOf(got).Elem().FieldByName(name).Interface(); f != v {
				t.Errorf("%T: %s = %v, want %v", opts, name, f, v)
			}
		}
	}
	got := redistier.Options(opts)
	check(got, map[string]any{
		"ContextTimeoutEnabled": true, "DisableIdentity": true, "DialerRetries": 1, "ReadTimeout": 2 * time.Second,
		"MaxRetries": 2, "DialTimeout": 3 * time.Second, "PoolSize": 7,
	})
	if !reflect.DeepEqual(*opts, before) {
		t.Errorf("%T: the caller's options were changed", opts)
	}
	check(redistier.Options[O](nil), map[string]any{"ContextTimeoutEnabled": true, "MaxRetries": -1, "DialTimeout": time.Second})
}
