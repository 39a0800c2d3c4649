package segment

// FNV-1a, which a loop over a word's letters can compute on its way.
const (
	HashStart = 2166136261
	HashStep  = 16777619
)

// HashOf is the hash of a word that Builder wants.
func HashOf(word []byte) uint32 {
	h := uint32(HashStart)
	for _, c := range word {
		h = (h ^ uint32(c)) * HashStep
	}
	return h
}

// table numbers words. It holds a few ten thousand of them, and forgets them all at once.
type table struct {
	slots   []uint32 // number of an entry + 1; open addressing
	entries []entry
	text    []byte
}

type entry struct {
	from  uint32
	n     uint32
	hash  uint32
	langs uint32 // bits
}

func (t *table) word(i uint32) []byte {
	e := &t.entries[i]
	return t.text[e.from:][:e.n]
}

func (t *table) number(word []byte, hash uint32, lang uint8) uint32 {
	if 2*len(t.entries) >= len(t.slots) {
		t.grow()
	}
	mask := uint32(len(t.slots) - 1)
	for at := (hash ^ hash>>15) & mask; ; at = (at + 1) & mask {
		i := t.slots[at]
		if i == 0 {
			t.entries = append(t.entries, entry{uint32(len(t.text)), uint32(len(word)), hash, 1 << lang})
			t.text = append(t.text, word...)
			t.slots[at] = uint32(len(t.entries))
			return uint32(len(t.entries) - 1)
		}
		if e := &t.entries[i-1]; e.hash == hash && string(t.text[e.from:][:e.n]) == string(word) {
			e.langs |= 1 << lang
			return i - 1
		}
	}
}

func (t *table) grow() {
	t.slots = make([]uint32, max(1<<12, 2*len(t.slots)))
	mask := uint32(len(t.slots) - 1)
	for i := range t.entries {
		h := t.entries[i].hash
		at := (h ^ h>>15) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(i + 1)
	}
}

func (t *table) reset() {
	clear(t.slots)
	t.entries, t.text = t.entries[:0], t.text[:0]
}
