package otter

// Charged returns the charge against MaxBytes: costs and Overhead of every entry, including those
// about to become visible. No part of it has a limit of its own.
func (t *Tier) Charged() (total, part int64) { return t.total.Load(), 0 }
