package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// Plain writers of a log in Redis are processes of redis-cli. They call the Redis function of package
// redislog, and one in eight is killed at a random moment. A killed call counts as not made.

// function returns the text of the function. As a control it removes no cells.
func (w *worker) function() string {
	text := redislog.Function()
	if w.cfg.Lacks(NoCell) {
		text = strings.Replace(text, "redis.call('UNLINK', unpack(KEYS, 4))", "local _", 1)
	}
	return text
}

// loadFunction loads the function into the server. It may have lost it since another process did.
func (w *worker) loadFunction(ctx context.Context) error {
	return w.rdb.FunctionLoadReplace(ctx, w.function()).Err()
}

// callFunction invalidates by a process of redis-cli.
func (w *worker) callFunction(ctx context.Context, rng *rand.Rand, scopes []invalidate.Scope) error {
	log := "{" + w.cfg.Prefix + "}:"
	keys := []string{log + "m", log + "k", log + "s"}
	var lines []string
	for _, s := range scopes {
		f := invalidate.Fence{Scope: s, Soft: w.cfg.Soft}
		if lines = append(lines, logwire.Encode([]invalidate.Fence{f})); f.OfKeys() {
			keys = append(keys, w.cfg.Prefix+":v:"+s.Text())
		}
	}
	if rng.IntN(8) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(10*time.Millisecond))))
		defer cancel()
	}
	host, port, err := net.SplitHostPort(w.cfg.Server.Addrs[0])
	if err != nil {
		return err
	}
	args := append([]string{"-e", "-h", host, "-p", port, "FCALL", "twofold_invalidate", strconv.Itoa(len(keys))}, keys...)
	cmd := exec.CommandContext(ctx, "redis-cli", append(args, lines...)...)
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("Function not found")) {
		return errors.Join(errors.New("the server has lost the function"), w.loadFunction(ctx))
	}
	if err != nil {
		return fmt.Errorf("redis-cli: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
