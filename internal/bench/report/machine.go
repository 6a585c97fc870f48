package report

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// Heading says when, where, and with which versions something was measured. More comes after the
// version of Redis; modules are the paths whose versions are reported.
func Heading(ctx context.Context, more string, modules []string) string {
	head := fmt.Sprintf("%s: %s, Redis %s%s, Twofold %s, %d cores (%s), %s.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.Version(), RedisVersion(), more, Said(ctx, "git", "describe", "--always", "--dirty"),
		runtime.NumCPU(), cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH), Said(ctx, "uname", "-sr"))
	if peers := versions(modules); len(peers) > 0 {
		head += "Peers: " + strings.Join(peers, ", ") + ".\n"
	}
	return head
}

// versions returns those of the given modules that this program was built with.
func versions(modules []string) []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var out []string
	for _, m := range info.Deps {
		if slices.Contains(modules, m.Path) {
			out = append(out, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
		}
	}
	return out
}

// RedisVersion returns the version of the redis-server in the PATH, or "".
func RedisVersion() string {
	_, rest, _ := strings.Cut(Said(context.Background(), "redis-server", "--version"), "v=")
	v, _, _ := strings.Cut(rest, " ")
	return v
}

// Said returns what a command prints, or "unknown".
func Said(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
