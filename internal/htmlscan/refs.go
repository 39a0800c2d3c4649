package htmlscan

import (
	"hash/maphash"

	"github.com/curtsy/curtsy/internal/html"
)

// refs collects the references of a page as they are written, each once, without the parts that do
// not matter. All of them are in one buffer, so a page costs no allocation once the buffers have
// grown.
type refs struct {
	bytes   []byte
	list    []span
	seen    table
	baseAt  span
	hasBase bool
	cut     bool
	more    func() bool // Page.More; nil: it allows everything
	asked   bool        // it was called, or is nil
	refused bool        // it returned false
}

type span struct{ from, to int }

func (r *refs) reset(more func() bool) {
	r.bytes, r.list = r.bytes[:0], r.list[:0]
	r.seen.reset(0)
	r.hasBase, r.cut = false, false
	r.more, r.asked, r.refused = more, more == nil, false
}

// mayGrow reports whether there is memory for more links than an ordinary page has.
func (r *refs) mayGrow() bool {
	if !r.asked {
		r.asked, r.refused = true, !r.more()
	}
	return !r.refused
}

// trim releases what a page with many links has needed.
func (r *refs) trim() {
	r.more = nil
	r.seen.trim()
	if cap(r.list) > 2*OrdinaryLinks {
		r.list = nil
	}
	if cap(r.bytes) > 2*OrdinaryText {
		r.bytes = nil
	}
}

// add adds the bytes from mark to the end as a reference. It drops fragments of the page itself,
// schemes other than http and https, and references that it has already. Most links of most pages
// end here, for a few nanoseconds each.
func (r *refs) add(mark int) {
	from, to := trimmed(r.bytes, mark, len(r.bytes))
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
	if n := len(r.list); n >= MaxLinks || (n >= OrdinaryLinks || to > OrdinaryText) && !r.mayGrow() {
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

// base makes the bytes from mark to the end the base of the page. Only the first base counts.
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

// trimmed narrows b[from:to] by the spaces and control characters that a URL parser ignores at both
// ends.
func trimmed(b []byte, from, to int) (int, int) {
	for from < to && b[from] <= ' ' {
		from++
	}
	for from < to && b[to-1] <= ' ' {
		to--
	}
	return from, to
}

// foreignScheme reports whether a reference has a scheme other than http and https, such as
// javascript:, mailto: or data:. Canonicalising would refuse it as well, but later.
func foreignScheme(ref []byte) bool {
	for i, c := range ref {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return !html.Is(ref[:i], "http") && !html.Is(ref[:i], "https")
		default:
			return false
		}
	}
	return false
}

// table is a set of indices by hash, with open addressing. It keeps its memory. Resetting it costs
// time in proportion to the last page.
type table struct {
	slots []slot
	n     int
}

type slot struct {
	hash uint64
	id   int32 // index + 1; 0 is free
}

// reset empties the table and makes space for about n indices.
func (t *table) reset(n int) {
	if len(t.slots) > 4096 && n < 512 {
		t.slots = nil // clearing the table of one huge page must not slow down later ones
	}
	for len(t.slots) < 2*n || len(t.slots) < 256 {
		t.slots = make([]slot, max(256, 2*len(t.slots)))
	}
	clear(t.slots)
	t.n = 0
}

// add adds index id, unless the table has an index with the same hash for which same returns true.
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

// trim releases the memory of a table that had more than OrdinaryLinks indices.
func (t *table) trim() {
	if len(t.slots) > 4*OrdinaryLinks {
		t.slots = nil
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

// The seed is random, so nobody can write a page whose links all have the same slot.
var seed = maphash.MakeSeed()

func hashBytes(b []byte) uint64  { return maphash.Bytes(seed, b) }
func hashString(s string) uint64 { return maphash.String(seed, s) }
