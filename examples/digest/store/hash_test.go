package store_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// To compute a vector: printf '1,3,7' | sha256sum.
func TestHashVectors(t *testing.T) {
	for _, tt := range []struct {
		name string
		ids  []int64
		text string
		want string
	}{
		{"none", nil, "", store.EmptyHash},
		{"one", []int64{1}, "1", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},
		{"user A", []int64{3, 1, 7}, "1,3,7", "1b15bdcc71b5563d53f75fd0b748cd0f77725af7bb451ef60387da214efe8472"},
		{"user B, in another order", []int64{7, 3, 1}, "1,3,7", "1b15bdcc71b5563d53f75fd0b748cd0f77725af7bb451ef60387da214efe8472"},
		{"user C", []int64{1, 3, 7, 9}, "1,3,7,9", "272b0cc4f7d0f28839e7575b3428eac0165ad4d884ea2f0820acacd33e9eaaf6"},
		{"by number and not by text", []int64{10, 9}, "9,10", "69c37d73f38de14c86035211434b780645c046f331a70bb6da9db9ba15400a7f"},
		{"each once", []int64{9, 10, 9, 10, 10}, "9,10", "69c37d73f38de14c86035211434b780645c046f331a70bb6da9db9ba15400a7f"},
		{"over 2 to the 53", []int64{1<<53 + 1}, "9007199254740993", "a1c367c29158357e62a3ff5d3e800fb7698a22396439dbc0a9d4929322afd35d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(store.JoinIDs(tt.ids)); got != tt.text {
				t.Errorf("JoinIDs(%v) = %q, want %q", tt.ids, got, tt.text)
			}
			if got := store.Hash(tt.ids); got != tt.want {
				t.Errorf("Hash(%v) = %s, want %s", tt.ids, got, tt.want)
			}
		})
	}
}

// Hashes are equal exactly when the sets are.
func TestHashIsOfTheSet(t *testing.T) {
	ids := rapid.SliceOfN(rapid.Int64Range(1, 12), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		before := slices.Clone(a)
		same := slices.Equal(set(a), set(b))
		if got := store.Hash(a) == store.Hash(b); got != same {
			t.Errorf("%v and %v hash alike: %v, want %v", a, b, got, same)
		}
		if h := store.Hash(a); len(h) != 64 || strings.Trim(h, "0123456789abcdef") != "" {
			t.Errorf("Hash(%v) = %q, want 64 digits of hex", a, h)
		}
		if !slices.Equal(a, before) {
			t.Errorf("Hash changed its argument from %v to %v", before, a)
		}
	})
}

func set(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }
