package redislog

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

//go:embed invalidate.lua
var invalidateSource string

// Function returns the text of the Redis function twofold_invalidate, for FUNCTION LOAD. With it a program
// in any language invalidates:
//
//	FCALL twofold_invalidate 3 {app}:m {app}:k {app}:s 't default:org:7'
//	FCALL twofold_invalidate 4 {app}:m {app}:k {app}:s app:v:default:users:v1:42 'k default:users:v1:42'
//
// It does what a [Log.Sync] does that appends, with the same code. The arguments are lines of records, in
// the text that the package documentation describes. The cell of each key is removed in the same step. The guide
// invalidate/WIRE.md has all rules, and examples for redis-cli, Python and Node.js.
//
// Without its first line the text is a script, which servers without functions run by EVAL.
func Function() string { return "#!lua name=twofold\n" + invalidateText() }

// invalidateText is the script.
func invalidateText() string {
	limits := strings.NewReplacer(
		"$MAXKEY", strconv.Itoa(key.MaxLen), "$MAXTAG", strconv.Itoa(invalidate.MaxTagLen), "$MAXCELLS", strconv.Itoa(invalidate.MaxCells),
		"$MAXFENCES", strconv.Itoa(invalidate.MaxFences), "$MAXTEXT", strconv.Itoa(invalidate.MaxText), "$VERSION", logwire.Version,
		"$KEYRETENTION", strconv.Itoa(DefaultKeyRetention), "$SCOPERETENTION", strconv.Itoa(DefaultScopeRetention),
	)
	return "local function sync(KEYS, ARGV)\n" + syncText() + "end\n\n" + limits.Replace(invalidateSource)
}

// Install loads [Function] into the server of rdb, or into each primary of a Cluster, in place of an
// earlier version. The server keeps it as it keeps data: a server that restarts empty needs it again, so
// call Install when a program starts. It may be called concurrently.
//
// The errors wrap [ErrNoFunctions], those of the configuration of rdb that [Log.Validate] reports, or an
// error of ctx, of the client library or of the server.
func Install(ctx context.Context, rdb redis.UniversalClient) error {
	_, _, err := rediserr.Inspect(rdb, &refusals)
	if err == nil {
		err = load(ctx, rdb)
	}
	if redis.HasErrorPrefix(err, "unknown command") {
		err = ErrNoFunctions // the server's text quotes the function
	}
	return adapter.FailOn(rdb, "install", err)
}

func load(ctx context.Context, rdb redis.UniversalClient) error {
	if many, ok := rdb.(interface {
		ForEachMaster(ctx context.Context, f func(context.Context, *redis.Client) error) error
	}); ok {
		return many.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return load(ctx, c) })
	}
	return rdb.FunctionLoadReplace(ctx, Function()).Err()
}
