package dispatch

import (
	"container/heap"
	"crypto/rand"
	"encoding/binary"

	"github.com/curtsy/curtsy/internal/crawl"
)

// leastSample is how many pages are compared at least, if so many came.
const leastSample = 8

// sample chooses random pages of a bundle whose length is not known yet: each page gets a random
// number, and those with the smallest numbers are kept. The server cannot foresee them.
type sample struct {
	pages int // seen
	kept  kept
}

// kept is a heap, with the largest number first.
type kept []chosen

type chosen struct {
	number uint64
	page   crawl.DispatchSample
}

// look decides about the next page. page is called only if it is kept for now.
func (s *sample) look(page func() crawl.DispatchSample) {
	var b [8]byte
	rand.Read(b[:]) // it never fails
	n := binary.BigEndian.Uint64(b[:])
	s.pages++
	switch {
	case len(s.kept) < s.size():
		heap.Push(&s.kept, chosen{n, page()})
	case n < s.kept[0].number:
		s.kept[0] = chosen{n, page()}
		heap.Fix(&s.kept, 0)
	}
}

// size is how many pages are compared of those that were seen: 1 %, but at least 8.
func (s *sample) size() int {
	return min(max(leastSample, (s.pages+99)/100), crawl.MaxDispatchSamples)
}

// all returns the pages that were chosen.
func (s *sample) all() (pages []crawl.DispatchSample) {
	for _, c := range s.kept {
		pages = append(pages, c.page)
	}
	return pages
}

func (k kept) Len() int           { return len(k) }
func (k kept) Less(i, j int) bool { return k[i].number > k[j].number }
func (k kept) Swap(i, j int)      { k[i], k[j] = k[j], k[i] }
func (k *kept) Push(x any)        { *k = append(*k, x.(chosen)) }
func (k *kept) Pop() any {
	last := (*k)[len(*k)-1]
	*k = (*k)[:len(*k)-1]
	return last
}
