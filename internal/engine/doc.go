// Package engine is the inside of package cache: one look-up, one load, one fill, one set. It knows
// entries, keys as text, clocks, fences, claims and frames, and nothing of a cache's types; for those
// it asks a kind. Package cache is its typed face.
package engine
