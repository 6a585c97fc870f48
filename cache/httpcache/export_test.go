package httpcache

// What fuzz tests look at from inside.
var (
	Normalize         = normalize
	IsNormal          = isNormal
	ParseCacheControl = parseCacheControl
	Matches           = matches
	SplitTags         = splitTags
)

// Seconds is directives.seconds of what parseCacheControl returned.
func Seconds(d map[string][]string, name string) (int64, bool) { return directives(d).seconds(name) }

// MemorySlots is how many keys are remembered at most.
const MemorySlots = memorySlots
