package segment

import (
	"encoding/binary"
	"math"
)

// Property is a value of a field that the operator's site rules give a page. It is not called a
// field here, because a Field is a part of a page.
type Property struct{ Name, Text string }

// MaxProperties is the maximum number of properties of a page. Builder.Page leaves out the rest.
const MaxProperties = 256

// The section of properties has a table of names and a table of the different values, and the text
// of both. Each page has the numbers of its values behind its address. A segment of pages without
// properties has an empty section.
const (
	propertyHead  = 8              // number of names, number of values
	propertyName  = 4              // end of the text
	propertyValue = 4 + 4          // number of the name, end of the text
	noProperties  = propertyHead   // length of a section without any
	maxNames      = math.MaxUint16 // of properties in a segment
)

// properties are those of a segment that is being written.
type properties struct {
	names   map[string]uint32
	values  map[propertyKey]uint32
	heads   []byte // of the names
	entries []byte // of the values
	text    []byte // of the names
	texts   []byte // of the values
}

type propertyKey struct {
	name uint32
	text string
}

func (p *properties) reset() {
	clear(p.names)
	clear(p.values)
	p.heads, p.entries, p.text, p.texts = p.heads[:0], p.entries[:0], p.text[:0], p.texts[:0]
}

// number returns the number of a value, and adds it if it is new.
func (p *properties) number(v Property) (n uint32, ok bool) {
	if p.names == nil {
		p.names, p.values = map[string]uint32{}, map[propertyKey]uint32{}
	}
	name, ok := p.names[v.Name]
	if !ok {
		if len(p.names) == maxNames {
			return 0, false
		}
		name = uint32(len(p.names))
		p.names[v.Name] = name
		p.text = append(p.text, v.Name...)
		p.heads = binary.LittleEndian.AppendUint32(p.heads, uint32(len(p.text)))
	}
	key := propertyKey{name, v.Text}
	if n, ok = p.values[key]; !ok {
		n = uint32(len(p.values))
		p.values[key] = n
		p.texts = append(p.texts, v.Text...)
		p.entries = binary.LittleEndian.AppendUint32(p.entries, name)
		p.entries = binary.LittleEndian.AppendUint32(p.entries, uint32(len(p.texts)))
	}
	return n, true
}

// appendPage appends the numbers of a page's values.
func (p *properties) appendPage(dst []byte, all []Property) []byte {
	var numbers [MaxProperties]uint32
	n := 0
	for _, v := range all[:min(len(all), MaxProperties)] {
		if number, ok := p.number(v); ok {
			numbers[n] = number
			n++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(n))
	for _, number := range numbers[:n] {
		dst = binary.AppendUvarint(dst, uint64(number))
	}
	return dst
}

func (p *properties) section() []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(p.names)))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(p.values)))
	for _, part := range [][]byte{p.heads, p.entries, p.text, p.texts} {
		out = append(out, part...)
	}
	return out
}

// fitsProperties reports whether a section has all of its tables.
func fitsProperties(b []byte) bool {
	if len(b) < propertyHead {
		return false
	}
	names, values := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))
	return uint64(len(b)) >= propertyHead+names*propertyName+values*propertyValue
}

// HasProperties reports whether any page of the segment has properties.
func (s *Segment) HasProperties() bool { return len(s.properties) > noProperties }

// PropertyNames is how many different names the properties have.
func (s *Segment) PropertyNames() uint32 { return binary.LittleEndian.Uint32(s.properties) }

// PropertyValues is how many different properties the pages have.
func (s *Segment) PropertyValues() uint32 { return binary.LittleEndian.Uint32(s.properties[4:]) }

// PropertyName is a name by its number.
func (s *Segment) PropertyName(n uint32) string {
	ends := s.properties[propertyHead:]
	return string(textAt(s.properties[propertyHead+propertyName*s.PropertyNames()+propertyValue*s.PropertyValues():], ends, propertyName, 0, n))
}

// NameOfProperty is the number of the name of a property.
func (s *Segment) NameOfProperty(n uint32) uint32 {
	return binary.LittleEndian.Uint32(s.properties[propertyHead+propertyName*s.PropertyNames()+propertyValue*n:])
}

// TextOfProperty is the Text of a property.
func (s *Segment) TextOfProperty(n uint32) string {
	names, values := s.PropertyNames(), s.PropertyValues()
	entries := s.properties[propertyHead+propertyName*names:]
	texts := entries[propertyValue*values:]
	if names > 0 {
		texts = texts[binary.LittleEndian.Uint32(s.properties[propertyHead+propertyName*(names-1):]):]
	}
	return string(textAt(texts, entries, propertyValue, 4, n))
}

// textAt is the n-th of several texts that follow one another. Where each ends is in a table.
func textAt(texts, table []byte, width, column, n uint32) []byte {
	from := uint32(0)
	if n > 0 {
		from = binary.LittleEndian.Uint32(table[width*(n-1)+column:])
	}
	return texts[from:binary.LittleEndian.Uint32(table[width*n+column:])]
}

// PagesProperties appends the numbers of the properties of page i, in the order in which the page
// has them.
func (s *Segment) PagesProperties(dst []uint32, i uint32) []uint32 {
	if !s.HasProperties() {
		return dst
	}
	t := s.texts[s.u32(atTexts, i):]
	n, w := binary.Uvarint(t)
	t = t[w+int(n):]
	n, w = binary.Uvarint(t) // the sections
	t = t[w+int(n):]
	n, w = binary.Uvarint(t)
	for t = t[w:]; n > 0; n-- {
		v, w := binary.Uvarint(t)
		dst, t = append(dst, uint32(v)), t[w:]
	}
	return dst
}

// propertiesOf are the properties of page i.
func (s *Segment) propertiesOf(i uint32) (all []Property) {
	for _, n := range s.PagesProperties(nil, i) {
		all = append(all, Property{s.PropertyName(s.NameOfProperty(n)), s.TextOfProperty(n)})
	}
	return all
}
