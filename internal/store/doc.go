// Package store is what one process holds and knows: its tiers, its lease and fences, the entries by
// key, and how values enter and leave. It calls no loader, and no caller in it waits for another one;
// package engine does both.
//
// The seam: a [Core] is one process's Tiers, a [Store] one cache, a [View] one tenant's part of it, and
// a [Job] one operation on one key. View.Hit answers a read, Job.GetCell reads the remote tier,
// Job.Put stores here, and Job.Delete and Core.Invalidate end what is stored.
package store
