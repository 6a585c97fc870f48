package redistier_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// guarded returns a server with the password "secret", and with a user bob who has few rights.
func guarded(t *testing.T) *redistest.Server {
	t.Helper()
	s := redistest.Start(t, redistest.Args("--maxclients", "1000")) // a server of its own
	s.Do(t, "ACL", "SETUSER", "bob", "on", ">secret", "~app:*", "+@connection", "+get", "+evalsha", "+eval")
	s.Do(t, "ACL", "SETUSER", "eve", "on", ">secret", "~other:*", "+@all")
	s.Do(t, "CONFIG", "SET", "requirepass", "secret")
	return s
}

// Every call says what is wrong with the client's options, and wraps the server's error.
func TestDenied(t *testing.T) {
	s := guarded(t)
	nonce := tier.NewNonce()
	calls := map[string]func(context.Context, *redistier.Tier) error{
		"Get": func(ctx context.Context, r *redistier.Tier) error { _, err := tiercall.Get(ctx, r, "k"); return err },
		"GetMany": func(ctx context.Context, r *redistier.Tier) error {
			_, err := tiercall.GetMany(ctx, r, make([]string, 50))
			return err
		},
		"Unlink": func(ctx context.Context, r *redistier.Tier) error {
			return tiercall.Remove(ctx, r, make([]string, 50)...)
		},
		"Claim": func(ctx context.Context, r *redistier.Tier) error {
			_, err := tiercall.Claim(ctx, r, "k", tier.Claim{Nonce: nonce})
			return err
		},
		"Look": func(ctx context.Context, r *redistier.Tier) error {
			_, err := tiercall.Look(ctx, r, "k", tier.Claim{Nonce: nonce})
			return err
		},
		"Fill": func(ctx context.Context, r *redistier.Tier) error {
			_, err := tiercall.Fill(ctx, r, "k", tier.Fill{Nonce: nonce, Cell: []byte("x")})
			return err
		},
		"ClaimMany": func(ctx context.Context, r *redistier.Tier) error {
			_, err := tiercall.ClaimMany(ctx, r, []string{"k", "l"}, []tier.Claim{{Nonce: nonce}, {Nonce: nonce}})
			return err
		},
		"FillMany": func(ctx context.Context, r *redistier.Tier) error {
			_, err := tiercall.FillMany(ctx, r, []string{"k", "l"}, []tier.Fill{{Nonce: nonce}, {Nonce: nonce}})
			return err
		},
	}
	for who, c := range map[string]struct {
		user, password, want string
		auth, only           bool // an error of the log-in; an error of only one call
	}{
		"nobody":         {"", "", "wants a password (NOAUTH): set Password in the client's options", true, false},
		"wrong password": {"", "guess", "refuses the password or the user (WRONGPASS): correct Username and Password in the client's options", true, false},
		"wrong user":     {"alice", "secret", "refuses the password or the user (WRONGPASS): correct Username and Password in the client's options", true, false},
		"command":        {"bob", "secret", "does not let the client's user run UNLINK (NOPERM): allow it with ACL SETUSER", false, true},
		"keys":           {"eve", "secret", "does not let the client's user touch these keys (NOPERM): allow names that begin with Prefix with ACL SETUSER", false, false},
	} {
		opts := s.Options()
		opts.Username, opts.Password = c.user, c.password
		want := "redistier: the server at " + s.Addr() + " " + c.want
		for name, call := range calls {
			if c.only && name != "Unlink" {
				continue
			}
			t.Run(who+"/"+name, func(t *testing.T) {
				// A new client: the server closes the connection of a large command.
				err := call(t.Context(), redistier.New(closed(t, redis.NewClient(opts)), redistier.Config{Prefix: "app"}))
				if err == nil || !strings.Contains(err.Error(), want) || redis.IsAuthError(err) != c.auth || redis.IsPermissionError(err) == c.auth {
					t.Errorf("got %v, want %s; and the server's own error inside", err, want)
				}
			})
		}
	}
}
