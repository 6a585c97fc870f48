package otter

// Charged returns what counts against MaxBytes: costs and Overhead of every
// entry, and of those about to be visible.
func (t *Tier) Charged() int64 { return t.total.Load() }
