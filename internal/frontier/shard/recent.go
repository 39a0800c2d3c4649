package shard

import (
	"hash/maphash"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Recent remembers URLs that were offered lately, and the depth at which they are known, so that
// repetitions, which most links are, need no lookup in the store. It compares whole texts: a hit is
// certain, and a miss is looked up in the store. The size of the table is limited.
//
// It has no pointers. With a string for each URL, it was a third of the objects that the collector
// visited each time in a whole crawl.
type Recent struct {
	slots []recentSlot
	// The texts of the URLs one after another, the latest after the one before it. When the buffer
	// is full, the oldest are overwritten.
	texts []byte
	next  int64 // where the next text is written, counted from the first one that ever was
}

type recentSlot struct {
	at    int64 // where its text is, counted like next
	tag   uint32
	depth int32
	size  uint16 // of the text; 0: the slot is free
}

const (
	recentSlots = 1 << 14
	// Slots for each hash: with one, a fifth of a few thousand URLs would replace each other.
	recentWays   = 4
	maxRecentURL = 256
	// The size of the texts: at first, and at most.
	leastRecentTexts = 64 << 10
	mostRecentTexts  = 1 << 20 // 64 bytes for each slot
)

var recentSeed = maphash.MakeSeed()

// find returns the slots where u may be, the one in which it is, or -1, and the one to use for it
// if it is in none.
func (r *Recent) find(u canon.URL) (set []recentSlot, at, next int, tag uint32) {
	if r.slots == nil {
		r.slots = make([]recentSlot, recentSlots)
	}
	h := maphash.String(recentSeed, string(u))
	first := h % (recentSlots / recentWays) * recentWays
	set, tag = r.slots[first:first+recentWays], uint32(h>>32)
	next = int(h>>20) % recentWays
	for i := range set {
		s := &set[i]
		switch {
		case s.size == 0 || r.next-s.at > int64(len(r.texts)):
			next = i // it is free, or its text was overwritten
		case s.tag == tag && int(s.size) == len(u):
			if text := int(s.at % int64(len(r.texts))); string(r.texts[text:text+len(u)]) == string(u) {
				return set, i, i, tag
			}
		}
	}
	return set, -1, next, tag
}

// known reports whether u was accepted, or refused permanently, at this depth or a smaller one.
func (r *Recent) known(u canon.URL, depth int) bool {
	set, i, _, _ := r.find(u)
	return i >= 0 && int(set[i].depth) <= depth
}

func (r *Recent) add(u canon.URL, depth int) {
	if len(u) > maxRecentURL || len(u) == 0 {
		return
	}
	set, i, next, tag := r.find(u)
	if i >= 0 {
		set[i].depth = min(set[i].depth, int32(depth))
		return
	}
	set[next] = recentSlot{at: r.write(u), tag: tag, depth: int32(depth), size: uint16(len(u))}
}

// write stores the text of a URL and returns where it is.
func (r *Recent) write(u canon.URL) (at int64) {
	if n := len(r.texts); r.next+int64(len(u)) > int64(n) && n < mostRecentTexts {
		texts := make([]byte, max(leastRecentTexts, 2*n)) // nothing was overwritten yet
		copy(texts, r.texts)
		r.texts = texts
	}
	size := int64(len(r.texts))
	if r.next%size+int64(len(u)) > size {
		r.next += size - r.next%size // no text is divided
	}
	at = r.next
	copy(r.texts[at%size:], u)
	r.next += int64(len(u))
	return at
}
