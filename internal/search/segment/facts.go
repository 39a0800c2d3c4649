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
	Around // the text around it: navigation, headers, footers, the site's name in titles
	Fields // number of parts
)

// starts are where the positions of each part begin. Words of a part that would reach the next one
// are left out.
var starts = [Fields + 1]uint32{0, 200, 400, 20_000, 1 << 24, math.MaxUint32}

// Start is the first position of a part.
func (f Field) Start() uint32 { return starts[f] }

// FieldAt is the part of a position.
func FieldAt(pos uint32) Field {
	switch {
	case pos >= starts[Body]: // most are
		if pos >= starts[Around] {
			return Around
		}
		return Body
	case pos >= starts[Heads]:
		return Heads
	case pos >= starts[URL]:
		return URL
	}
	return Title
}

// Facts are what a segment stores of a page beside its words.
type Facts struct {
	Page    uint64 // number of the page in its store
	Expires int64  // milliseconds since 1970 from which on it is not shown, 0: never
	Digest  uint64 // of the body, its first bytes; 0: none
	Text    uint64 // hash of its words in order; 0: none
	Sim     uint64 // SimHash of its main text; 0: none
	Date    int32  // days since 1970; 0: unknown
	Words   [Fields]uint32
	Listing uint8 // share of the text that is in links, of 255

	URL    string
	Narrow [Narrows]string
	// Properties are in the order in which they are shown, values of one name after another.
	Properties []Property
	// Sections are in the order of the page.
	Sections []Section
}

// The values of a page by which answers are filtered and counted.
const (
	Host    = iota
	Lang    // ISO 639-1, "" when unknown
	Type    // media type
	Narrows // number of values
)

// Facts are stored by column: the values of all pages side by side, the widest first. Most queries
// need one value of many pages, and then read nothing else.
const (
	atPage    = 0
	atExpires = 8
	atDigest  = 16
	atText    = 24
	atSim     = 32
	atDate    = 5 * 8
	atWords   = atDate + 4
	atTexts   = atWords + 4*int(Fields)
	atNarrow  = atTexts + 4
	atList    = atNarrow + 4*Narrows
	// factsSize is the width of a page's facts, without its texts.
	factsSize = atList + 1
)

// columns are the facts of pages that are being written.
type columns [5 + 1 + int(Fields) + 1 + Narrows + 1][]byte

func (c *columns) reset() {
	for i := range c {
		c[i] = c[i][:0]
	}
}

func (c *columns) add(f *Facts, texts uint32, narrow [Narrows]uint32) {
	n := 0
	u64 := func(v uint64) { c[n] = binary.LittleEndian.AppendUint64(c[n], v); n++ }
	u32 := func(v uint32) { c[n] = binary.LittleEndian.AppendUint32(c[n], v); n++ }
	for _, v := range [...]uint64{f.Page, uint64(f.Expires), f.Digest, f.Text, f.Sim} {
		u64(v)
	}
	u32(uint32(f.Date))
	for _, w := range f.Words {
		u32(w)
	}
	u32(texts)
	for _, v := range narrow {
		u32(v)
	}
	c[n] = append(c[n], f.Listing)
}

// u64 is a number of page i from the column that begins after that many bytes for each page.
func (s *Segment) u64(column int, i uint32) uint64 {
	return binary.LittleEndian.Uint64(s.facts[int(s.n)*column+8*int(i):])
}

func (s *Segment) u32(column int, i uint32) uint32 {
	return binary.LittleEndian.Uint32(s.facts[int(s.n)*column+4*int(i):])
}

// Facts returns what is stored of page i.
func (s *Segment) Facts(i uint32) (f Facts) {
	f.Page, f.Expires, f.Digest = s.u64(atPage, i), s.Expires(i), s.Digest(i)
	f.Text, f.Sim, f.Date = s.u64(atText, i), s.u64(atSim, i), s.Date(i)
	for k := range f.Words {
		f.Words[k] = s.Words(i, Field(k))
	}
	f.Listing = s.Listing(i)
	f.URL = string(s.URL(i))
	for k := range f.Narrow {
		f.Narrow[k] = s.Value(s.Narrow(i, k))
	}
	f.Properties, f.Sections = s.propertiesOf(i), s.Sections(nil, i)
	return f
}

// Words is how many words a part of page i has.
func (s *Segment) Words(i uint32, f Field) uint32 { return s.u32(atWords+4*int(f), i) }

// Expires is when page i ends, in milliseconds since 1970; 0 means never.
func (s *Segment) Expires(i uint32) int64 { return int64(s.u64(atExpires, i)) }

// Date is the day of page i, in days since 1970; 0 means unknown.
func (s *Segment) Date(i uint32) int32 { return int32(s.u32(atDate, i)) }

// Digest is the first bytes of the digest of page i's body; 0 means none.
func (s *Segment) Digest(i uint32) uint64 { return s.u64(atDigest, i) }

// Listing is the share of the text of page i that is in links, of 255.
func (s *Segment) Listing(i uint32) uint8 { return s.facts[int(s.n)*atList+int(i)] }

// URL is the address of page i. It is valid as long as the segment's bytes are.
func (s *Segment) URL(i uint32) []byte {
	t := s.texts[s.u32(atTexts, i):]
	n, w := binary.Uvarint(t)
	return t[w:][:n]
}

// Narrow is the number of a value of page i: its Host, Lang or Type.
func (s *Segment) Narrow(i uint32, which int) uint32 { return s.u32(atNarrow+4*which, i) }

// Values is how many different values the pages have.
func (s *Segment) Values() uint32 { return binary.LittleEndian.Uint32(s.values) }

// Value is a value by its number.
func (s *Segment) Value(n uint32) string {
	from := binary.LittleEndian.Uint32(s.values[4+4*n:])
	to := binary.LittleEndian.Uint32(s.values[8+4*n:])
	return string(s.values[8+4*s.Values():][from:to])
}

// Hash identifies an address in the lists of links.
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
