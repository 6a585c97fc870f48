//go:build twofold_controls

package follow_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Without the safeguard, nothing notices that the log has lost records.
func TestAheadControls(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFrameAheadOfTheLog$", "-test.count=1")
	cmd.Env = append(os.Environ(), "TWOFOLD_SAFEGUARDS_OFF=ahead")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "started 0 epochs") {
		t.Errorf("without the safeguard the test must fail: %v\n%s", err, out)
	}
}
