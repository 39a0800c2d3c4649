package publish

import (
	"hash/maphash"

	"github.com/curtsy/curtsy/pkg/canon"
)

// seenLinks remembers where links were offered. It has two hashes of each link instead of its text:
// most links of a page are known, and the texts to compare them with are spread over memory that
// the processor does not have in its caches. They would also stay in memory.
//
// Two links of a visit have the same 128 bits with a probability of less than 2^-100. Nobody can
// write such links, because the seeds are random.
type seenLinks struct {
	slots []seenLink
	n     int
	read  uint64 // what prepare read last; without a use, the compiler would leave the reads out
}

type seenLink struct {
	hash linkHash // zero: the slot is free
	at   position
}

// linkHash is what identifies a link. Its first half is odd.
type linkHash [2]uint64

// position is where a link was offered: how far from the seeds, and behind how many redirects.
type position struct{ depth, redirects int32 }

const (
	// maxSeen is how many links a visit remembers. It fills three quarters of mostSlots slots.
	maxSeen    = mostSlots / 4 * 3
	mostSlots  = 4096 // 96 KiB
	leastSlots = 256
	together   = 64 // how many links are prepared together
)

var seenSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// hashOf returns the hashes by which a link is remembered.
func hashOf(u canon.URL) linkHash {
	return linkHash{maphash.String(seenSeeds[0], string(u)) | 1, maphash.String(seenSeeds[1], string(u))}
}

// prepare computes the hashes of links, and reads where they may be. The memory is in no cache of
// the processor, which then waits for all of it together, and not for each link.
func (s *seenLinks) prepare(hashes []linkHash, links []canon.URL) {
	for i, u := range links {
		hashes[i] = hashOf(u)
	}
	if len(s.slots) == 0 {
		return
	}
	mask := uint64(len(s.slots) - 1)
	for _, h := range hashes[:len(links)] {
		s.read ^= s.slots[h[1]&mask].hash[0]
	}
}

// find returns where the link with these hashes was offered. It is nil if the link is not
// remembered. It is valid until the next call of put, which must not follow with the same hashes
// unless it is nil.
func (s *seenLinks) find(hash linkHash) *position {
	if len(s.slots) == 0 {
		return nil
	}
	if slot := s.slot(hash); slot.hash == hash {
		return &slot.at
	}
	return nil
}

// slot returns the slot of a link, or the free one where it belongs. There is always a free one.
func (s *seenLinks) slot(hash linkHash) *seenLink {
	mask := uint64(len(s.slots) - 1)
	for i := hash[1] & mask; ; i = (i + 1) & mask {
		if slot := &s.slots[i]; slot.hash == hash || slot.hash[0] == 0 {
			return slot
		}
	}
}

// put remembers a link that is not remembered yet. If there are too many, it forgets all others.
func (s *seenLinks) put(hash linkHash, at position) {
	switch {
	case s.n >= maxSeen:
		s.reset()
	case s.n >= len(s.slots)/4*3:
		old := s.slots
		s.slots = make([]seenLink, max(leastSlots, 2*len(old)))
		for i := range old {
			if old[i].hash[0] != 0 {
				*s.slot(old[i].hash) = old[i]
			}
		}
	}
	*s.slot(hash) = seenLink{hash, at}
	s.n++
}

// reset forgets all links.
func (s *seenLinks) reset() {
	clear(s.slots)
	s.n = 0
}
