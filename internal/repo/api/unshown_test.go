package api_test

const (
	ofStats = "a part of cache.Stats, which ExampleStats reads"
	forLogs = "for authors of logs; package invalidate/logtest is the example, and its suite is the test"
)

// unshown maps the names that need no example to the reason.
var unshown = map[string]string{
	"cache.CellCounts":        ofStats,
	"cache.Counts":            ofStats,
	"cache.EvictionCounts":    ofStats,
	"cache.FillCounts":        ofStats,
	"cache.LoadCounts":        ofStats,
	"cache.ReadCounts":        ofStats,
	"cache.RefreshCounts":     ofStats,
	"cache.InvalidationStats": ofStats,
	"cache.RemoteStats":       ofStats,
	"invalidate.FenceStats":   ofStats,
	"invalidate.LogStats":     ofStats,

	"cache.Cache.HashesKeys": "for package triggers, whose Check asks it",

	"cache.Fill.Stores": "for a loader that reports whether its value is stored, such as that of httpcache",

	"invalidate.At":           forLogs,
	"invalidate.Claimed":      forLogs,
	"invalidate.Filled":       forLogs,
	"invalidate.Hooks":        forLogs,
	"invalidate.Log.Server":   forLogs,
	"invalidate.Storing":      forLogs,
	"invalidate.ErrBound":     forLogs,
	"invalidate.Fence.OfKeys": forLogs,
	"invalidate.MaxCells":     forLogs,
	"invalidate.MaxFences":    forLogs,
	"invalidate.MaxText":      forLogs,
	"invalidate.MinBound":     forLogs,
	"invalidate.Position":     forLogs,
	"invalidate.Record":       forLogs,

	"codec.TypeFault":    "an element of TypeError.Faults, which ExampleCheckerOf prints",
	"invalidate.AnyTag":  "part of the cell format, which package tier documents",
	"cache.SpacePolicy":  "an element of what Tiers.Policies returns, which ExampleTiers_SetPolicies prints",
	"invalidate.Invalid": "for packages that make scopes; the methods of cache.Cache do",
}
