package urls

import (
	"encoding/binary"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Records in the layout of file format 1. A record keeps this layout until it is changed.

// appendOlder encodes r: a class byte, the origin, nine varints, the texts, then the optional
// fields of StoredCopy and Again. FoundOn usually begins like the page's own URL, so only the rest
// of it is written.
func (r *Record) appendOlder(b []byte) []byte {
	b = append(b, r.classByte(), r.Origin)
	for _, n := range r.numbers() {
		b = binary.AppendUvarint(b, n)
	}
	b = store.AppendText(b, string(r.URL))
	n := sharedLen(r.FoundOn, r.URL)
	b = binary.AppendUvarint(b, uint64(n))
	b = store.AppendText(b, string(r.FoundOn[n:]))
	b = store.AppendText(b, string(r.Reason))
	b = store.AppendText(b, r.Detail)
	return r.appendMore(b)
}

func (r *Record) decodeOlder(v []byte) error {
	r.setClass(v[0])
	r.Origin = v[1]
	s := store.Scanner{B: v[2:]}
	var numbers [9]uint64
	for i := range numbers {
		numbers[i] = s.Uint()
	}
	r.setNumbers(numbers)
	r.URL = canon.URL(s.Text())
	n := s.Uint()
	if n > uint64(len(r.URL)) {
		return store.ErrRecord
	}
	r.FoundOn = r.URL[:n] + canon.URL(s.Text())
	r.Reason = crawl.Reason(s.Text())
	r.Detail = string(s.Text())
	r.decodeMore(&s)
	if s.Bad {
		return store.ErrRecord
	}
	r.counted = r.toCount()
	return nil
}

func peekOlder(v []byte, u canon.URL) (same bool, depth int, class crawl.Class) {
	s := store.Scanner{B: v[2:]}
	depth = int(s.Uint())
	for range 8 {
		s.Uint()
	}
	same = string(s.Text()) == string(u)
	return same, depth, crawl.Class(v[0] &^ recordFlags)
}
