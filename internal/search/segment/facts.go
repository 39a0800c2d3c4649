package segment

import (
	"encoding/binary"
	"errors"
	"math"
)

// Field is a part of a page.
type Field uint8

// The parts of a page, in the order of their positions.
const (
	Title Field = iota
	URL
	Heads
	Body   // the main text
	Around // what stands around it: navigation, headers, footers, the site's name in titles
	Fields // how many there are
)

// starts are where the positions of each part begin. A part's words past the beginning of the next
// one are left out.
var starts = [Fields + 1]uint32{0, 200, 400, 20_000, 1 << 24, math.MaxUint32}

// Start is the first position of a part.
func (f Field) Start() uint32 { return starts[f] }

// FieldAt is the part that a position is in.
func FieldAt(pos uint32) Field {
	switch {
	case pos >= starts[Around]:
		return Around
	case pos >= starts[Body]:
		return Body
	case pos >= starts[Heads]:
		return Heads
	case pos >= starts[URL]:
		return URL
	}
	return Title
}

// Facts are what a segment keeps of a page beside its words.
type Facts struct {
	Page    uint64 // number of the page in its store
	Expires int64  // milliseconds since 1970 from which it is not shown, 0: never
	Digest  uint64 // of the body, its first bytes; 0: none
	Text    uint64 // hash of its words in order; 0: none
	Sim     uint64 // SimHash of its main text; 0: none
	Date    int32  // days since 1970; 0: not known
	Words   [Fields]uint32
	Listing uint8 // share of the text that stands in links, of 255

	URL    string
	Narrow [Narrows]string
}

// The values of a page by which an answer is narrowed and counted.
const (
	Host    = iota
	Lang    // ISO 639-1, "" when not known
	Type    // media type
	Narrows // how many there are
)

// factsSize is the width of a page's facts, without its texts.
const factsSize = 5*8 + 4 + 4*int(Fields) + 1 + 3 + 4 + 4*Narrows

const (
	atDate   = 5 * 8
	atWords  = atDate + 4
	atList   = atWords + 4*int(Fields)
	atTexts  = atList + 4
	atNarrow = atTexts + 4
)

func appendFacts(dst []byte, f *Facts, texts uint32, narrow [Narrows]uint32) []byte {
	for _, v := range [...]uint64{f.Page, uint64(f.Expires), f.Digest, f.Text, f.Sim} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.Date))
	for _, n := range f.Words {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	dst = append(dst, f.Listing, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, texts)
	for _, n := range narrow {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// Facts returns what is kept of page i.
func (s *Segment) Facts(i uint32) (f Facts) {
	b := s.facts[int(i)*factsSize:][:factsSize]
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[8*at:]) }
	f.Page, f.Expires, f.Digest, f.Text, f.Sim = u64(0), int64(u64(1)), u64(2), u64(3), u64(4)
	f.Date = int32(binary.LittleEndian.Uint32(b[atDate:]))
	for k := range f.Words {
		f.Words[k] = binary.LittleEndian.Uint32(b[atWords+4*k:])
	}
	f.Listing = b[atList]
	f.URL = string(s.URL(i))
	for k := range f.Narrow {
		f.Narrow[k] = s.Value(s.Narrow(i, k))
	}
	return f
}

// Words is how many words a part of page i has.
func (s *Segment) Words(i uint32, f Field) uint32 {
	return binary.LittleEndian.Uint32(s.facts[int(i)*factsSize+atWords+4*int(f):])
}

// Expires is when page i ends, in milliseconds since 1970; 0: never.
func (s *Segment) Expires(i uint32) int64 {
	return int64(binary.LittleEndian.Uint64(s.facts[int(i)*factsSize+8:]))
}

// Date is the day of page i, in days since 1970; 0: not known.
func (s *Segment) Date(i uint32) int32 {
	return int32(binary.LittleEndian.Uint32(s.facts[int(i)*factsSize+atDate:]))
}

// Digest is that of the body of page i, its first bytes; 0: none.
func (s *Segment) Digest(i uint32) uint64 {
	return binary.LittleEndian.Uint64(s.facts[int(i)*factsSize+16:])
}

// Listing is the share of the text of page i that stands in links, of 255.
func (s *Segment) Listing(i uint32) uint8 { return s.facts[int(i)*factsSize+atList] }

// URL is the address of page i. It is valid as long as the segment's bytes are.
func (s *Segment) URL(i uint32) []byte {
	t := s.texts[binary.LittleEndian.Uint32(s.facts[int(i)*factsSize+atTexts:]):]
	n, w := binary.Uvarint(t)
	return t[w:][:n]
}

// Narrow is the number of the value that page i has: of its Host, Lang or Type.
func (s *Segment) Narrow(i uint32, which int) uint32 {
	return binary.LittleEndian.Uint32(s.facts[int(i)*factsSize+atNarrow+4*which:])
}

// Values is how many different values the pages have.
func (s *Segment) Values() uint32 { return binary.LittleEndian.Uint32(s.values) }

// Value is a value by its number.
func (s *Segment) Value(n uint32) string {
	from := binary.LittleEndian.Uint32(s.values[4+4*n:])
	to := binary.LittleEndian.Uint32(s.values[8+4*n:])
	return string(s.values[8+4*s.Values():][from:to])
}

// Hash names an address in the lists of links.
func Hash(url string) uint64 {
	// FNV-1a, 64 bits: the same in every process, unlike maphash.
	h := uint64(14695981039346656037)
	for i := range len(url) {
		h = (h ^ uint64(url[i])) * 1099511628211
	}
	// The lowest bits of FNV are weak; targets are looked up by the highest.
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return h
}

// errFormat: the bytes are not a segment that this version wrote.
var errFormat = errors.New("segment: not a segment of this version")
