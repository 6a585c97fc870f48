package otter

// Charged returns the charge against MaxBytes: costs and Overhead of every entry, including those
// about to become visible.
func (t *Tier) Charged() int64 { return t.total.Load() }
