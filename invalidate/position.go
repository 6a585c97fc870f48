package invalidate

// Position is a place in the order of invalidations: an epoch in the upper 32 bits, a number
// within it in the lower 32. Zero is before every invalidation.
type Position uint64

// Epoch returns the upper half of p.
func (p Position) Epoch() uint32 { return uint32(p >> 32) }

// N returns the lower half of p.
func (p Position) N() uint32 { return uint32(p) }

// At returns the position n of epoch.
func At(epoch, n uint32) Position { return Position(epoch)<<32 | Position(n) }
