// Package entry is what is known of one cached value besides the value: its times, tags and parts, and
// what can end it.
//
// The seam: Unfenced says whether an invalidation covers it, and then Freshness says how an [Entry] may be served. What an
// entry asks its cache, it asks the [Owner] of its [Home].
package entry
