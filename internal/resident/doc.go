// Package resident is what one process holds and knows: its tiers, its lease and fences, the entries by
// key, and how values enter and leave. It calls no loader, and no caller in it waits for another one;
// package engine does both.
//
// A [Core] is one process's Tiers, a [Store] one cache, a [View] one tenant's part of it, and a [Job] one
// operation on one key. View.Hit answers a read, Job.GetCell reads the remote tier, Job.Put stores here, and
// Job.Delete and Core.Invalidate end what is stored.
//
// An [Entry] is what is known of one cached value besides the value: its times, tags and parts, and what can end it.
// Unfenced says whether an invalidation covers it, and then Freshness says how it may be served. What an
// entry asks its cache, it asks the [Owner] of its [Home].
//
// A [Fill] is the handle of a running load: what the loader records about its value, which cached values it
// read, and which other loads it waits for. [FillOf] finds that of a context, and [Running] the one that a read is
// a part of. TakeOn and DependOn record a part, Await refuses a circle, and Close returns the [Facts].
package resident
