package promcache

import "github.com/twofold-go/twofold/cache"

// spaceFamilies are about one namespace and tenant.
var spaceFamilies = []family[cache.Counts]{
	{
		"cache_hit_total", "Reads answered by a tier.", counter, "tier", []string{"local", "remote"},
		func(n *cache.Counts) []float64 { return floats(n.LocalHits, n.RemoteHits) },
	},
	{"cache_miss_total", "Reads that went to the loader.", counter, "", nil, one(func(n *cache.Counts) int64 { return n.Misses })},
	{"cache_merge_total", "Reads that waited for another read's fetch or load.", counter, "", nil, one(func(n *cache.Counts) int64 { return n.Merged })},
	{"cache_load_total", "Loader calls.", counter, "", nil, one(func(n *cache.Counts) int64 { return n.Loads })},
	{"cache_load_error_total", "Loader calls that failed.", counter, "", nil, one(func(n *cache.Counts) int64 { return n.LoadErrors })},
	{"cache_load_panic_total", "Loader calls that failed by a panic.", counter, "", nil, one(func(n *cache.Counts) int64 { return n.LoadPanics })},
	{
		"cache_load_overtaken_total", "Loads overtaken by an invalidation.", counter, "outcome", []string{"repeated", "given_up"},
		func(n *cache.Counts) []float64 { return floats(n.Reloads, n.Overtaken) },
	},
	{"cache_evict_total", "Entries pushed out of the local tier.", counter, "", nil, one(func(n *cache.Counts) int64 { return n.Evictions })},
	{
		"cache_evict_size_bytes_total", "Memory of the entries pushed out of the local tier.",
		counter, "", nil, one(func(n *cache.Counts) int64 { return n.EvictedBytes }),
	},
	{
		"cache_negative_total", "Reads answered with a remembered absence or error.",
		counter, "", nil, one(func(n *cache.Counts) int64 { return n.Negatives }),
	},
	{
		"cache_stale_served_total", "Stale values served.", counter, "reason", []string{"revalidate", "error", "timeout"},
		func(n *cache.Counts) []float64 { return floats(n.StaleRevalidating, n.StaleOnError, n.StaleOnTimeout) },
	},
	{
		"cache_refresh_total", "Background refreshes.", counter, "outcome", []string{"ok", "adopted", "error", "skipped", "elsewhere"},
		func(n *cache.Counts) []float64 {
			return floats(n.Refreshes, n.RefreshesAdopted, n.RefreshErrors, n.RefreshesSkipped, n.RefreshesElse)
		},
	},
	{
		"cache_fill_total", "What became of loaded values.", counter, "outcome",
		[]string{"stored", "lost", "error", "too_large", "unencodable", "tags", "not_admitted", "no_store"},
		func(n *cache.Counts) []float64 {
			return floats(n.Fills, n.FillsLost, n.FillErrors, n.FillsTooLarge, n.FillsUnencodable, n.FillsBadTags,
				n.FillsNotAdmitted, n.FillsNotWanted)
		},
	},
	{
		"cache_cell_refused_total", "Remote values that were not served.", counter, "reason", []string{"corrupt", "foreign", "invalidated"},
		func(n *cache.Counts) []float64 { return floats(n.CellsCorrupt, n.CellsForeign, n.CellsRefused) },
	},
}
