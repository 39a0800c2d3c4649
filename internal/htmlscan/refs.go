package htmlscan

import "hash/maphash"

// refs gathers the references of one page as they are written, each once, shortened to what can
// matter. They lie one behind the other in one buffer, so once the buffers have grown a page
// costs no allocation.
type refs struct {
	bytes   []byte
	list    []span
	seen    table
	baseAt  span
	hasBase bool
	cut     bool
}

type span struct{ from, to int }

func (r *refs) reset() {
	r.bytes, r.list = r.bytes[:0], r.list[:0]
	r.seen.reset(0)
	r.hasBase, r.cut = false, false
}

// add takes the bytes from mark to the end as a reference. It drops fragments of the page itself,
// schemes other than http and https, and references that are there already. Most links of most
// pages end here, at a few nanoseconds each.
func (r *refs) add(mark int) {
	from, to := trim(r.bytes, mark, len(r.bytes))
	for i := from; i < to; i++ {
		if r.bytes[i] == '#' {
			to = i
			break
		}
	}
	ref := r.bytes[from:to]
	if len(ref) == 0 || foreignScheme(ref) {
		r.bytes = r.bytes[:mark]
		return
	}
	if len(r.list) >= MaxLinks {
		r.cut = true
		r.bytes = r.bytes[:mark]
		return
	}
	same := func(i int32) bool { s := r.list[i]; return string(r.bytes[s.from:s.to]) == string(ref) }
	if !r.seen.add(hashBytes(ref), int32(len(r.list)), same) {
		r.bytes = r.bytes[:mark]
		return
	}
	r.bytes = r.bytes[:to]
	r.list = append(r.list, span{from, to})
}

// base takes the bytes from mark to the end as the page's base; only the first counts.
func (r *refs) base(mark int) {
	if r.hasBase {
		r.bytes = r.bytes[:mark]
		return
	}
	r.hasBase, r.baseAt = true, span{mark, len(r.bytes)}
}

func (r *refs) baseHref() ([]byte, bool) {
	if !r.hasBase {
		return nil, false
	}
	return r.bytes[r.baseAt.from:r.baseAt.to], true
}

// trim narrows b[from:to] by the spaces and control characters that a URL parser
// ignores at both ends.
func trim(b []byte, from, to int) (int, int) {
	for from < to && b[from] <= ' ' {
		from++
	}
	for from < to && b[to-1] <= ' ' {
		to--
	}
	return from, to
}

// foreignScheme reports whether a reference has a scheme other than http and https: javascript:,
// mailto:, data:. Canonicalising would refuse it as well, only later.
func foreignScheme(ref []byte) bool {
	for i, c := range ref {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return !equalFold(ref[:i], "http") && !equalFold(ref[:i], "https")
		default:
			return false
		}
	}
	return false
}

// table is a set of indices by hash, with open addressing. It keeps its memory; resetting costs in
// proportion to the last page.
type table struct {
	slots []slot
	n     int
}

type slot struct {
	hash uint64
	id   int32 // index + 1; 0 is free
}

// reset empties the table and makes room for about n.
func (t *table) reset(n int) {
	if len(t.slots) > 4096 && n < 512 {
		t.slots = nil // later pages must not pay for clearing the table of one huge page
	}
	for len(t.slots) < 2*n || len(t.slots) < 256 {
		t.slots = make([]slot, max(256, 2*len(t.slots)))
	}
	clear(t.slots)
	t.n = 0
}

// add puts in index id unless one with the same hash is there that same says is equal.
func (t *table) add(hash uint64, id int32, same func(int32) bool) bool {
	if 2*(t.n+1) > len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch s := &t.slots[i]; {
		case s.id == 0:
			s.hash, s.id = hash, id+1
			t.n++
			return true
		case s.hash == hash && same(s.id-1):
			return false
		}
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(256, 2*len(old)))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := s.hash & mask
		for t.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// The seed is random, so no page can be written whose links all fall into one slot.
var seed = maphash.MakeSeed()

func hashBytes(b []byte) uint64  { return maphash.Bytes(seed, b) }
func hashString(s string) uint64 { return maphash.String(seed, s) }
