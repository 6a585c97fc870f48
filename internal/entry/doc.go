// Package entry is what is known of one cached value besides the value: its times, tags and parts, and
// whether a fence covers it.
//
// The seam: Unfenced asks the fences, and then Freshness says how an [Entry] may be served. What an
// entry asks its cache, it asks the [Owner] of its [Home].
package entry
