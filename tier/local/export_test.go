package local

// Charged returns the charge against MaxBytes, and the part of it in windows.
func (t *Tier) Charged() (total, window int64) { return t.total.Load(), t.window.Load() }

// Shards returns the number of shards.
func (t *Tier) Shards() int { return len(t.shards) }

// Share returns the windows' share of MaxBytes.
func (t *Tier) Share() float64 { return float64(t.limit.Load()) / float64(t.max) }
