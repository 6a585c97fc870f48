package sizeof

import "math/bits"

const (
	mapHeader   = 48   // the runtime's map descriptor
	mapSlots    = 8    // slots per group
	mapControl  = 8    // control bytes per group
	mapTable    = 1024 // slots per table; a larger map is several tables
	tableHeader = 32   // a table's descriptor and its place in the directory
	mapIndirect = 128  // larger keys and elements have their own blocks
	pageSize    = 8 << 10
	largeBlock  = 32 << 10
)

// heapBlock rounds n up as the allocator does. The allocator's size classes are not exported. Up to
// 32 KiB they are an eighth of a power of two apart; larger blocks are whole pages.
func heapBlock(n int64) int64 {
	switch {
	case n <= 0:
		return 0
	case n > largeBlock:
		return roundUp(n, pageSize)
	}
	step := int64(8)
	if n > 32 {
		step = max(16, int64(1)<<(bits.Len64(uint64(n-1))-1)/8)
	}
	return roundUp(n, step)
}

// mapBlocks returns the size of a map's own memory for n entries. It follows the runtime: groups of
// eight slots after a control word, and tables that double when seven of eight slots are taken.
func mapBlocks(p *plan, n int64) int64 {
	group := mapControl + mapSlots*p.slot
	size := mapHeader + n*p.boxed
	switch {
	case n == 0:
		return mapHeader
	case n <= mapSlots:
		return size + heapBlock(group)
	}
	slots := int64(1) << bits.Len64(uint64((n*8+6)/7-1))
	if slots <= mapTable {
		return size + tableHeader + heapBlock(slots/mapSlots*group)
	}
	return size + slots/mapTable*(tableHeader+heapBlock(mapTable/mapSlots*group))
}

// mapSlot returns the size of one key and its element inside a group, and of their blocks outside
// it.
func mapSlot(key, elem *plan) (slot, boxed int64) {
	ksize, kalign := key.size, key.align
	if ksize > mapIndirect {
		boxed += heapBlock(ksize)
		ksize, kalign = wordSize, wordSize
	}
	esize, ealign := elem.size, elem.align
	if esize > mapIndirect {
		boxed += heapBlock(esize)
		esize, ealign = wordSize, wordSize
	}
	align := max(kalign, ealign, 1)
	return roundUp(roundUp(ksize, max(ealign, 1))+esize, align), boxed
}

// roundUp rounds n up to a multiple of step.
func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }
