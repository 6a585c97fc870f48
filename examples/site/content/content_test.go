package content_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
)

func TestMonth(t *testing.T) {
	east := time.FixedZone("east", 8*60*60)
	m := content.Month(time.Date(2026, time.January, 1, 3, 0, 0, 0, east)) // in UTC this is in the year before
	if first, err := content.ParseMonth(m); m != "2025-12" || err != nil || !first.Equal(time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the month is %v from %v, %v", m, first, err)
	}
	for _, s := range []string{"", "2025", "2025-13", "2025-1", "0000-01", "2025-12-01", " 2025-12"} {
		if got, err := content.ParseMonth(s); err == nil {
			t.Errorf("ParseMonth(%q) = %v", s, got)
		}
	}
}

func TestKeys(t *testing.T) {
	key := content.NewKey()
	prefix, secret, ok := content.SplitKey(key)
	if !ok || prefix+"_"+secret != key || len(prefix) != 8 || len(secret) < 26 {
		t.Errorf("SplitKey(%q) = %q, %q, %v", key, prefix, secret, ok)
	}
	k := content.APIKey{Hash: content.HashSecret(secret)}
	if !k.Matches(secret) || k.Matches("") || k.Matches(secret+"x") || (content.APIKey{}).Matches("") {
		t.Error("a key matches what it should not, or not what it should")
	}
	if other := content.NewKey(); other == key {
		t.Error("two keys are the same")
	}
}
