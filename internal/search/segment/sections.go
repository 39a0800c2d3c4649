package segment

import "encoding/binary"

// Section is a part of a page's body below a heading.
type Section struct {
	// Nth is the number of the heading among all headings of the page, from 0, in the order of the
	// page.
	Nth uint32
	// At is the position of the heading's first word in the body, from the beginning of the body.
	// The section extends to the next one.
	At uint32
	// Words is how many words the heading has.
	Words uint32
}

// MaxSections is the maximum number of sections of a page. Builder.Page leaves out the rest.
const MaxSections = 512

// appendSections appends the sections of a page, which are in their order, with their length before
// them.
func appendSections(dst []byte, all []Section) []byte {
	all = all[:min(len(all), MaxSections)]
	var buf [64]byte
	b := buf[:0]
	nth, at := uint32(0), uint32(0)
	for _, s := range all {
		b = appendUvarint(b, s.Nth-nth)
		b = appendUvarint(b, s.At-at)
		b = appendUvarint(b, s.Words)
		nth, at = s.Nth, s.At
	}
	dst = appendUvarint(dst, uint32(len(b)))
	return append(dst, b...)
}

// Sections appends the sections of page i, in their order.
func (s *Segment) Sections(dst []Section, i uint32) []Section {
	t := s.texts[s.u32(atTexts, i):]
	n, w := binary.Uvarint(t)
	t = t[w+int(n):]
	n, w = binary.Uvarint(t)
	var last Section
	for t = t[w:][:n]; len(t) > 0; {
		nth, w := binary.Uvarint(t)
		at, v := binary.Uvarint(t[w:])
		words, u := binary.Uvarint(t[w+v:])
		t = t[w+v+u:]
		last = Section{last.Nth + uint32(nth), last.At + uint32(at), uint32(words)}
		dst = append(dst, last)
	}
	return dst
}
