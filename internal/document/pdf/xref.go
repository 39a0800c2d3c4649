package pdf

import (
	"bytes"
	"fmt"
)

// where is the position of an object: an offset in the file, or an index in the object stream in.
type where struct {
	at, in, index int
}

// document is a PDF whose objects can be read.
type document struct {
	b        []byte
	table    map[int]where
	trailer  dict
	cache    map[int]any
	busy     map[int]bool // being read: a reference to itself is nil
	packs    map[int]*pack
	crypt    *crypt
	inflated int // bytes decoded so far
	tooMuch  bool
}

// pack is an object stream, decoded.
type pack struct {
	b   []byte
	at  []int // where its objects begin
	num []int
}

func open(b []byte) (*document, error) {
	head := b[:min(len(b), 1024)]
	if !bytes.Contains(head, []byte("%PDF-")) {
		return nil, ErrNotPDF
	}
	d := &document{b: b, table: map[int]where{}, trailer: dict{}, cache: map[int]any{}, busy: map[int]bool{}, packs: map[int]*pack{}}
	tail := b[max(0, len(b)-2048):]
	ok := false
	if i := bytes.LastIndex(tail, []byte("startxref")); i >= 0 {
		l := lexer{b: tail, i: i + len("startxref")}
		if at, is := l.next(0).(int); is {
			ok = d.tables(at + max(0, bytes.Index(head, []byte("%PDF-"))))
			if !ok {
				ok = d.tables(at)
			}
		}
	}
	if ok {
		ok = d.hasPages()
	}
	if !ok {
		if err := d.rebuild(); err != nil {
			return nil, err
		}
	}
	if len(d.table) > maxObjects {
		return nil, ErrTooMuch
	}
	if err := d.decrypt(); err != nil {
		return nil, err
	}
	return d, nil
}

// hasPages reports whether the tables lead to a tree of pages. For an encrypted file, nothing that
// was read for this is kept.
func (d *document) hasPages() bool {
	root, _ := d.resolve(d.trailer["Root"]).(dict)
	_, ok := d.resolve(root["Pages"]).(dict)
	if !ok && d.trailer["Encrypt"] != nil {
		// Its catalog may be in a stream that cannot be decrypted yet.
		_, ok = d.resolve(d.trailer["Encrypt"]).(dict)
	}
	clear(d.cache)
	clear(d.packs)
	return ok
}

// tables reads the cross-reference tables that begin at an offset, the newest first, and reports
// whether they are usable.
func (d *document) tables(at int) bool {
	seen := map[int]bool{}
	for next := []int{at}; len(next) > 0; {
		at, next = next[0], next[1:]
		if seen[at] || len(seen) > 4096 {
			continue
		}
		seen[at] = true
		if at <= 0 || at >= len(d.b) {
			return false
		}
		l := lexer{b: d.b, i: at, doc: d}
		l.skip()
		var t dict
		if bytes.HasPrefix(d.b[l.i:], []byte("xref")) {
			l.i += 4
			if t = d.table1(&l); t == nil {
				return false
			}
		} else if t = d.table2(&l); t == nil {
			return false
		}
		for k, v := range t {
			if _, has := d.trailer[k]; !has {
				d.trailer[k] = v
			}
		}
		if n, ok := t["XRefStm"].(int); ok {
			next = append(next, n)
		}
		if n, ok := t["Prev"].(int); ok {
			next = append(next, n)
		}
		if len(d.table) > maxObjects {
			return true // open returns the error
		}
	}
	return len(d.table) > 0
}

// table1 reads a table in text form and returns its trailer, or nil if it is invalid.
func (d *document) table1(l *lexer) dict {
	for {
		switch v := l.next(0).(type) {
		case op:
			if v != "trailer" {
				return nil
			}
			t, _ := l.next(0).(dict)
			return t
		case int:
			n, ok := l.next(0).(int)
			if !ok || n < 0 {
				return nil
			}
			for i := range n {
				at, ok := l.next(0).(int)
				if _, gen := l.next(0).(int); !ok || !gen {
					return nil
				}
				if l.next(0) == op("n") && at > 0 {
					d.known(v+i, where{at: at})
				} else {
					d.known(v+i, where{})
				}
				if len(d.table) > maxObjects {
					return dict{}
				}
			}
		default:
			return nil
		}
	}
}

// known records the position of an object, unless a newer table has done so.
func (d *document) known(num int, w where) {
	if _, has := d.table[num]; !has && num >= 0 {
		d.table[num] = w
	}
}

// table2 reads a cross-reference stream and returns its dictionary.
func (d *document) table2(l *lexer) dict {
	if _, ok := l.next(0).(int); !ok {
		return nil
	}
	if _, ok := l.next(0).(int); !ok || l.next(0) != op("obj") {
		return nil
	}
	s, ok := l.object().(*stream)
	if !ok {
		return nil
	}
	s.open = true
	b := d.decode(s)
	var w [3]int
	widths, _ := s.dict["W"].(array)
	for i := range min(len(widths), 3) {
		if w[i], _ = widths[i].(int); w[i] < 0 || w[i] > 8 {
			return nil
		}
	}
	size := w[0] + w[1] + w[2]
	if size == 0 {
		return nil
	}
	index, _ := s.dict["Index"].(array)
	if len(index) < 2 {
		index = array{0, len(b) / size}
	}
	field := func(n, missing int) int {
		if n == 0 {
			return missing
		}
		v := 0
		for _, c := range b[:n] {
			v = v<<8 | int(c)
		}
		b = b[n:]
		return v
	}
	for i := 0; i+1 < len(index); i += 2 {
		first, _ := index[i].(int)
		n, _ := index[i+1].(int)
		for j := 0; j < n && len(b) >= size; j++ {
			kind, x, y := field(w[0], 1), field(w[1], 0), field(w[2], 0)
			switch kind {
			case 1:
				d.known(first+j, where{at: x})
			case 2:
				d.known(first+j, where{in: x, index: y})
			default:
				d.known(first+j, where{})
			}
			if len(d.table) > maxObjects {
				return s.dict
			}
		}
	}
	return s.dict
}

// rebuild searches the file for objects.
func (d *document) rebuild() error {
	d.table, d.trailer = map[int]where{}, dict{}
	clear(d.cache)
	var packs []int
	for i := 0; ; {
		n := bytes.Index(d.b[i:], []byte("obj"))
		if n < 0 {
			break
		}
		at := i + n
		i = at + 3
		if num, start, ok := d.numberBefore(at); ok {
			d.table[num] = where{at: start}
			if len(d.table) > maxObjects {
				return ErrTooMuch
			}
			head := d.b[i:min(len(d.b), i+256)]
			if bytes.Contains(head, []byte("/ObjStm")) {
				packs = append(packs, num)
			}
			if bytes.Contains(head, []byte("/XRef")) {
				l := lexer{b: d.b, i: i, doc: d}
				if t, ok := l.next(0).(dict); ok {
					d.learn(t)
				}
			}
		}
	}
	for i := 0; ; {
		n := bytes.Index(d.b[i:], []byte("trailer"))
		if n < 0 {
			break
		}
		i += n + len("trailer")
		l := lexer{b: d.b, i: i}
		if t, ok := l.next(0).(dict); ok {
			d.learn(t)
		}
	}
	if err := d.decrypt(); err != nil {
		return err
	}
	for _, num := range packs {
		if p := d.pack(num); p != nil {
			for i, n := range p.num {
				if _, has := d.table[n]; !has && len(d.table) <= maxObjects {
					d.table[n] = where{in: num, index: i}
				}
			}
		}
	}
	if _, ok := d.resolve(d.trailer["Root"]).(dict); !ok {
		last := where{at: -1}
		for num, w := range d.table {
			if w.in != 0 {
				w.at = d.table[w.in].at
			}
			if w.at < last.at || w.at == last.at && w.index <= last.index {
				continue // the last one in the file counts, whatever the order of the search
			}
			if v, ok := d.resolve(ref{num, 0}).(dict); ok && v["Type"] == name("Catalog") {
				d.trailer["Root"], last = ref{num, 0}, w
			}
			if d.tooMuch {
				return ErrTooMuch
			}
		}
	}
	if d.trailer["Root"] == nil {
		return fmt.Errorf("%w: it has no catalog", ErrNotPDF)
	}
	return nil
}

// learn copies the entries of a trailer. The last one in the file counts.
func (d *document) learn(t dict) {
	for _, k := range []name{"Root", "Info", "Encrypt", "ID"} {
		if t[k] != nil {
			d.trailer[k] = t[k]
		}
	}
}

// numberBefore reads the "12 0 " before "obj" backwards.
func (d *document) numberBefore(at int) (num, start int, ok bool) {
	i := at
	back := func(is func(byte) bool) int {
		from := i
		for i > 0 && from-i < 12 && is(d.b[i-1]) {
			i--
		}
		return from - i
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	back(isSpace)
	if back(digit) == 0 || back(isSpace) == 0 {
		return 0, 0, false
	}
	end := i
	if back(digit) == 0 {
		return 0, 0, false
	}
	for _, c := range d.b[i:end] {
		num = num*10 + int(c-'0')
	}
	return num, i, num < 1<<31
}

// resolve returns the object that v refers to, or v itself.
func (d *document) resolve(v any) any {
	for range 32 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = d.object(r.num)
	}
	return nil
}

// maxCache is how many objects are kept after they were read.
const maxCache = 100_000

func (d *document) object(num int) any {
	if v, ok := d.cache[num]; ok {
		return v
	}
	w, ok := d.table[num]
	if !ok || d.busy[num] || len(d.busy) > maxDepth {
		return nil
	}
	d.busy[num] = true
	defer delete(d.busy, num)
	var v any
	if w.in != 0 {
		v = d.packed(w, num)
	} else if w.at > 0 && w.at < len(d.b) {
		l := lexer{b: d.b, i: w.at, doc: d}
		n, ok := l.next(0).(int)
		g, _ := l.next(0).(int)
		if !ok || l.next(0) != op("obj") || n != num {
			return nil
		}
		l.key = ref{n, g}
		v = l.object()
	}
	if len(d.cache) >= maxCache {
		clear(d.cache)
	}
	d.cache[num] = v
	return v
}

func (d *document) packed(w where, num int) any {
	p := d.pack(w.in)
	if p == nil {
		return nil
	}
	i := w.index
	if i < 0 || i >= len(p.num) || p.num[i] != num {
		for i = 0; i < len(p.num) && p.num[i] != num; i++ {
		}
	}
	if i >= len(p.at) || p.at[i] > len(p.b) {
		return nil
	}
	l := lexer{b: p.b, i: p.at[i], doc: d}
	v := l.next(0)
	switch v.(type) {
	case eof, closing, op:
		return nil
	}
	return v
}

// maxPacks is how many decoded object streams are kept.
const maxPacks = 64

// pack returns an object stream, or nil if there is none.
func (d *document) pack(num int) *pack {
	if p, ok := d.packs[num]; ok {
		return p
	}
	if w := d.table[num]; w.in != 0 {
		return nil // object streams cannot contain each other
	}
	s, ok := d.object(num).(*stream)
	if !ok {
		return nil
	}
	b := d.decode(s)
	n, _ := d.resolve(s.dict["N"]).(int)
	first, _ := d.resolve(s.dict["First"]).(int)
	if first < 0 || first > len(b) {
		return nil
	}
	p := &pack{b: b}
	l := lexer{b: b[:first]}
	for range min(n, maxObjects) {
		num, ok1 := l.next(0).(int)
		at, ok2 := l.next(0).(int)
		if !ok1 || !ok2 || at < 0 {
			break
		}
		p.num, p.at = append(p.num, num), append(p.at, first+at)
	}
	if len(d.packs) >= maxPacks {
		clear(d.packs)
	}
	d.packs[num] = p
	return p
}
