package workload

// Why a goal is missed, if that is known: from profiles, and from runs with one part switched off. A
// reason is shown below the table if its goal is missed.
const (
	whyLocalHit = "a hit reads the clock; ristretto and otter's loading cache do not. The processor does not fetch the next hit's " +
		"memory before the clock is read, so reading it costs more than its own time. Compare tier/local with \"tier/local, clock\" below; " +
		"the cache adds its own work to that. Entries of up to twice the size, a denser table, and reading the clock before the table made " +
		"no difference or were slower."
	whyGet     = "the clock; see the local hit."
	whyGetMany = "the map that it returns; see \"a new map of 64\" below."
	whySet     = "ristretto puts the value into a queue, and another goroutine does the rest. A Set fences its key, spells and hashes " +
		"it, measures the value, and replaces the entry before it returns."
	whyBesideWrites = "a write fences its key, and readers check whether the fence concerns them. So they read two cache lines that " +
		"the other core has just written. More groups of keys, fewer groups, and two tables of groups were tried and not kept. The rest " +
		"has two causes. New entries are in cold memory, which the peers pay for, too. And a write takes longer than ristretto's, so " +
		"it evicts more from the core's own cache."
	whyStaleHit = "a stale hit reads two more cache lines: whether it may be served, and whether its refresh is due."
	whyMiss     = "the load runs in its own goroutine, so that no caller depends on another's patience. Its " +
		"stack grows once, it has a deadline, and a fifth of the time is garbage collection. A pool of goroutines with grown stacks would save " +
		"a tenth, and was refused: see launch in package cache."
	whyRemoteTime = "a context with a deadline, the checksum, the entry, and the garbage of all three. With one " +
		"goroutine the processor sleeps while the server works. The time to wake it is included, and varies by more than the difference. " +
		"With 64 goroutines the processor does not sleep, and a hit takes less processor time than a plain GET (see the table of processor time)."
	whyRemoteAllocs = "a context with a deadline takes 4, the keys of cell and cache 3, the entry 1 and the job 1."
	whyCondition    = "the goal is of a time in which a hit took three times as long. A condition is one more header field to read, and its " +
		"entity tags are compared with the page's."
	whyCoding  = "Accept-Encoding is one more header field to read, with its q-values."
	whyVariant = "two look-ups: the page of the URL names the header fields that count, and the variant has a key of its own."
	whyClient  = "half of a client's hit makes the response that its caller owns: its header may be changed, so it is copied. A fifth reads " +
		"the clock twice, once for the cache and once for the age; a tenth makes the key."
)
