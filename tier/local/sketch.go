package local

// sketch estimates how often a hash was seen lately. It is a count-min sketch with counters of
// four bits, which are halved from time to time: TinyLFU (Einziger, Friedman and Manes, ACM TOS
// 2017). It has one to two words of 16 counters for each entry, so it grows with the shard. The
// shard's mutex protects it.
type sketch struct {
	words []uint64 // a power of two
	used  int      // additions and hits since the last halving, plus half of those before it
}

const (
	minWords = 16
	rows     = 4
	most     = 15 // of a counter
	ageAfter = 30 // uses for each word
)

// grow makes room for the given number of entries. It doubles the words by copying them, so each
// estimate stays the same.
func (s *sketch) grow(entries int) {
	if len(s.words) >= entries {
		return
	}
	if len(s.words) == 0 {
		s.words = make([]uint64, minWords)
	}
	for len(s.words) < entries {
		s.words = append(s.words, s.words...)
	}
}

var multipliers = [rows]uint64{0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xCBF29CE484222325}

// counter returns the word and the shift of a hash's counter in a row. Each row has four of the
// 16 counters of a word.
func (s *sketch) counter(mixed uint64, row int) (word int, shift uint) {
	h := (mixed ^ mixed>>32) * multipliers[row]
	h ^= h >> 29
	return int(h>>8) & (len(s.words) - 1), uint(h&3)<<2 + uint(row)<<4
}

// add counts a hash.
func (s *sketch) add(mixed uint64) {
	grew := false
	for row := range rows {
		word, shift := s.counter(mixed, row)
		if s.words[word]>>shift&most < most {
			s.words[word] += 1 << shift
			grew = true
		}
	}
	if grew {
		s.age(1)
	}
}

// age halves the counters after enough uses. Hits are uses, too: otherwise the hot entries of
// yesterday would keep their counters while today's hot entries are hit and nothing is added.
func (s *sketch) age(uses int) {
	if s.used += uses; s.used < ageAfter*len(s.words) {
		return
	}
	s.used /= 2
	for i, w := range s.words {
		s.words[i] = w >> 1 & 0x7777777777777777
	}
}

// estimate returns how often a hash was seen, 15 at most. It may be too high.
func (s *sketch) estimate(mixed uint64) uint64 {
	least := uint64(most)
	for row := range rows {
		word, shift := s.counter(mixed, row)
		least = min(least, s.words[word]>>shift&most)
	}
	return least
}
