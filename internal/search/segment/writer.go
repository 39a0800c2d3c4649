package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// magic is the beginning of every segment; its last letter is the version.
const magic = "cseg\x00\x00\x004"

// The sections of a segment, in order. Each begins at a multiple of eight.
const (
	secFacts = iota
	secTexts
	secValues
	secPages
	secURLs
	secWords
	secLists
	secKeys
	secKeyLists
	secTargets
	secLed
	secSums
	secProperties
	sections
)

// headSize is the size of the head: magic, checksum of all that follows it, number of pages, and
// the end of each section.
const headSize = 8 + 4 + 4 + 8*sections

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writer assembles a segment.
type writer struct {
	facts     columns
	texts     []byte
	numbers   []numbered // pages by their number
	urls      []numbered // pages by the hash of their address
	words     dictWriter
	lists     []byte
	keys      []keyOf
	keyText   []byte
	value     []byte
	values    map[string]uint32
	sums      [Fields]uint64
	valueText []byte
	valueEnds []byte

	properties properties
}

// reset removes everything, but keeps the memory.
func (w *writer) reset() {
	clear(w.values)
	w.facts.reset()
	w.properties.reset()
	*w = writer{
		properties: w.properties,
		facts:      w.facts, texts: w.texts[:0], numbers: w.numbers[:0], urls: w.urls[:0], words: w.words.reset(), lists: w.lists[:0],
		keys: w.keys[:0], keyText: w.keyText[:0], value: w.value[:0], values: w.values, valueText: w.valueText[:0], valueEnds: w.valueEnds[:0],
	}
}

type numbered struct {
	number uint64
	page   uint32
}

type keyOf struct {
	head    uint64 // its first bytes, which decide most comparisons
	from, n uint32
	word    uint32
}

func (w *writer) page(f *Facts) {
	i := uint32(len(w.numbers))
	var narrow [Narrows]uint32
	for k, v := range f.Narrow {
		narrow[k] = w.valueOf(v)
	}
	w.facts.add(f, uint32(len(w.texts)), narrow)
	w.texts = binary.AppendUvarint(w.texts, uint64(len(f.URL)))
	w.texts = append(w.texts, f.URL...)
	w.texts = appendSections(w.texts, f.Sections)
	w.texts = w.properties.appendPage(w.texts, f.Properties)
	w.numbers = append(w.numbers, numbered{f.Page, i})
	w.urls = append(w.urls, numbered{Hash(f.URL), i})
	for k, n := range f.Words {
		w.sums[k] += uint64(n)
	}
}

// valueOf returns the number of a value.
func (w *writer) valueOf(v string) uint32 {
	n, ok := w.values[v]
	if !ok {
		if w.values == nil {
			w.values = map[string]uint32{}
		}
		n = uint32(len(w.values))
		w.values[v] = n
		w.valueText = append(w.valueText, v...)
		w.valueEnds = binary.LittleEndian.AppendUint32(w.valueEnds, uint32(len(w.valueText)))
	}
	return n
}

// written is where the lists of a word are, and their lengths in bytes.
type written struct {
	df, last             uint32 // how many pages have the word, and the last of them
	from                 int    // in writer.lists
	pages, places, links int
	pairs                uint32
}

// entry adds a word whose lists are written.
func (w *writer) entry(word []byte, e *written) {
	v := w.value[:0]
	for _, n := range [...]int{int(e.df), int(e.last), e.from, e.pages, e.places, int(e.pairs), e.links} {
		v = binary.AppendUvarint(v, uint64(n))
	}
	w.value = v
	w.words.add(word, v)
}

// word adds a word with its lists.
func (w *writer) word(word []byte, l *lists) {
	w.entry(word, &written{l.df, l.last, len(w.lists), len(l.pages), len(l.places), len(l.links), l.pairs})
	w.lists = append(append(append(w.lists, l.pages...), l.places...), l.links...)
}

// key records that a word, by its number, has a key.
func (w *writer) key(key []byte, word uint32) {
	if len(key) == 0 || len(key) > maxKey {
		return
	}
	var head [8]byte
	copy(head[:], key)
	w.keys = append(w.keys, keyOf{binary.BigEndian.Uint64(head[:]), uint32(len(w.keyText)), uint32(len(key)), word})
	w.keyText = append(w.keyText, key...)
}

func (w *writer) finish(targets []byte) []byte {
	text := func(k keyOf) []byte { return w.keyText[k.from:][:k.n] }
	slices.SortFunc(w.keys, func(a, b keyOf) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		if c := bytes.Compare(text(a), text(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.word, b.word)
	})
	var keys dictWriter
	var keyLists []byte
	for i := 0; i < len(w.keys); {
		from, key, last := len(keyLists), text(w.keys[i]), uint32(0)
		for j := i; i < len(w.keys) && bytes.Equal(text(w.keys[i]), key); i++ {
			if k := w.keys[i]; i == j || k.word != last {
				keyLists = binary.AppendUvarint(keyLists, uint64(k.word-last))
				last = k.word
			}
		}
		w.value = binary.AppendUvarint(binary.AppendUvarint(w.value[:0], uint64(from)), uint64(len(keyLists)-from))
		keys.add(key, w.value)
	}
	values := binary.LittleEndian.AppendUint32(nil, uint32(len(w.values)))
	values = binary.LittleEndian.AppendUint32(values, 0)
	values = append(append(values, w.valueEnds...), w.valueText...)
	var sums []byte
	for _, n := range w.sums {
		sums = binary.LittleEndian.AppendUint64(sums, n)
	}
	all := [sections][]byte{
		secValues: values, secSums: sums, secProperties: w.properties.section(),
		secFacts: slices.Concat(w.facts[:]...), secTexts: w.texts, secPages: appendNumbered(w.numbers), secURLs: appendNumbered(w.urls),
		secWords: w.words.appendTo(nil), secLists: w.lists, secKeys: keys.appendTo(nil), secKeyLists: keyLists, secTargets: targets,
	}
	all[secLed] = led(targets, w.urls)
	size := headSize
	for _, s := range all {
		size += len(s) + 8
	}
	out := make([]byte, headSize, size)
	copy(out, magic)
	binary.LittleEndian.PutUint32(out[12:], uint32(len(w.numbers)))
	for i, s := range all {
		out = append(out, s...)
		binary.LittleEndian.PutUint64(out[16+8*i:], uint64(len(out)))
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
	}
	binary.LittleEndian.PutUint32(out[8:], crc32.Checksum(out[12:], castagnoli))
	return out
}

// led returns for each target which page of the segment has that address; gone: none. urls are
// sorted.
func led(targets []byte, urls []numbered) []byte {
	n := binary.LittleEndian.Uint32(targets)
	out := make([]byte, 0, 4*n)
	for i := range n {
		target := binary.LittleEndian.Uint64(targets[4+16*i:])
		for len(urls) > 0 && urls[0].number < target {
			urls = urls[1:]
		}
		page := gone
		if len(urls) > 0 && urls[0].number == target {
			page = urls[0].page
		}
		out = binary.LittleEndian.AppendUint32(out, page)
	}
	return out
}

func appendNumbered(all []numbered) []byte {
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.page, b.page)) })
	var out []byte
	for _, n := range all {
		out = binary.LittleEndian.AppendUint64(out, n.number)
	}
	for _, n := range all {
		out = binary.LittleEndian.AppendUint32(out, n.page)
	}
	return out
}

// targetWriter writes the section of the addresses to which links lead. They must be added in
// order.
type targetWriter struct {
	n            uint32
	heads, pages []byte
	target       uint64
	last, count  uint32
}

// add adds a page that links to a target. A page that does so twice counts once.
func (t *targetWriter) add(target uint64, page uint32) {
	if t.n == 0 || target != t.target {
		t.endTarget()
		t.heads = binary.LittleEndian.AppendUint64(t.heads, target)
		t.heads = binary.LittleEndian.AppendUint32(t.heads, uint32(len(t.pages)))
		t.target, t.last, t.count = target, 0, 0
		t.n++
	} else if page == t.last {
		return
	}
	t.pages = binary.AppendUvarint(t.pages, uint64(page-t.last))
	t.last = page
	t.count++
}

func (t *targetWriter) endTarget() {
	if t.n > 0 {
		t.heads = binary.LittleEndian.AppendUint32(t.heads, t.count)
	}
}

func (t *targetWriter) finish() []byte {
	t.endTarget()
	out := binary.LittleEndian.AppendUint32(nil, t.n)
	return append(append(out, t.heads...), t.pages...)
}
