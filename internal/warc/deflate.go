package warc

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// A page reaches the archive as an S2 block: the fetcher has already searched it for repetitions.
// That search is most of the cost of compressing a record, so it is not done again: the repetitions
// in the block are written as DEFLATE (RFC 1951). There is also no new Huffman code for each
// record. A record uses a code that fits the previous records and contains all symbols, so it is
// written in one pass and can still be read independently. This takes two fifths of the time of
// gzip's fastest level.

const (
	maxMatch    = 258
	maxDistance = 32 << 10
	endOfBlock  = 256
	// relearn is after how many bytes and repetitions a new code is made, once it has been made a
	// few times. Earlier counts are then halved.
	relearn = 1 << 16
)

// ErrBlock means that an S2 block is invalid, or is not the block of the text.
var ErrBlock = errors.New("warc: not the S2 block of the text")

// deflater writes pieces as DEFLATE, as one block. The zero value is ready to use.
type deflater struct {
	out  []byte
	acc  uint64 // bits that are not in out yet; between method calls fewer than eight
	nacc uint

	lits, dists   [286]uint32 // recent counts of each symbol
	lengths       [256]uint32 // the same for each length less 3, not yet included in lits
	counted, wait int         // symbols since the code was made, and until the next

	// The code as it is written: for bytes, lengths less 3 and symbols of distances, the bits, and
	// from bit 24 on their number.
	litBits, distBits [286]uint32
	lengthBits        [256]uint32
	begin             []byte // the beginning of a block: that it is the last one, and its code
	beginBits         uint32 // the remaining bits after those bytes
	beginN            uint

	litCode, distCode, sizeCode huffman
	symbols                     []uint64
}

// huffman is a code: the bits of each symbol, reversed, and their number.
type huffman struct {
	code [286]uint16
	size [286]uint8
}

// reset starts a new block after the contents of to.
func (d *deflater) reset(to []byte) {
	if d.begin == nil {
		d.learn()
	}
	d.out, d.acc, d.nacc = append(to, d.begin...), uint64(d.beginBits), d.beginN
}

// room makes sure that this many bits can be written without further checks.
func (d *deflater) room(bits int) {
	if n := bits/8 + 16; cap(d.out)-len(d.out) < n {
		d.out = slices.Grow(d.out, n)
	}
}

// literals adds bytes without repetitions.
func (d *deflater) literals(b []byte) {
	d.room(15 * len(b))
	d.counted += len(b)
	out, acc, nacc := d.out[:cap(d.out)], d.acc, d.nacc
	at := len(d.out)
	for _, c := range b {
		d.lits[c]++
		l := d.litBits[c]
		acc |= uint64(l&0xffffff) << (nacc & 63)
		if nacc += uint(l >> 24); nacc >= 48 { // a byte has 15 bits at most
			binary.LittleEndian.PutUint64(out[at:], acc)
			at += 6
			acc >>= 48
			nacc -= 48
		}
	}
	binary.LittleEndian.PutUint64(out[at:], acc)
	at += int(nacc >> 3)
	d.out, d.acc, d.nacc = out[:at], acc>>(nacc&56), nacc&7
}

// match adds a repetition. length is 3 to maxMatch, and distance is at most maxDistance. The caller
// must have called room.
func (d *deflater) match(length, distance int) {
	d.lengths[uint8(length-3)]++
	d.counted++
	l := d.lengthBits[uint8(length-3)]
	v, n := uint64(l&0xffffff), uint(l>>24)
	s := distanceSymbol(uint32(distance - 1))
	d.dists[s]++
	t := d.distBits[s]
	v |= uint64(t&0xffffff) << (n & 63)
	n += uint(t >> 24)
	if s >= 4 {
		extra := uint(s/2-1) & 15
		v |= uint64(uint32(distance-1)&(1<<extra-1)) << (n & 63)
		n += extra
	}
	acc, nacc := d.acc|v<<(d.nacc&63), d.nacc+n // 48 bits at most, after seven
	at := len(d.out)
	binary.LittleEndian.PutUint64(d.out[at:at+8], acc)
	d.out = d.out[:at+int(nacc>>3)]
	d.acc, d.nacc = acc>>(nacc&56), nacc&7
}

// s2 adds the content of an S2 block. text is its uncompressed text: a repetition that is too far
// back or too short for DEFLATE is copied from there. text may be nil; then such a repetition
// returns ErrText. length is the length of the text.
func (d *deflater) s2(block, text []byte, length int) error {
	size, n := binary.Uvarint(block)
	if n <= 0 || size != uint64(length) {
		return ErrBlock
	}
	d.room(24 * len(block)) // two bytes become 48 bits at most, except where room is called below
	at, end, offset := 0, length, 0
	for s := block[n:]; len(s) > 0; {
		tag := s[0]
		if tag&3 == 0 {
			length, head := int(tag>>2)+1, 1
			if length > 60 {
				length, head = longLiterals(s)
			}
			if length > len(s)-head || length > end-at {
				return ErrBlock
			}
			d.literals(s[head : head+length])
			s, at = s[head+length:], at+length
			continue
		}
		c := &copies[tag]
		length, head := int(c.length), int(c.head)
		if len(s) < head {
			return ErrBlock
		}
		var four [4]byte
		if len(s) > 4 {
			four = [4]byte(s[1:])
		} else {
			copy(four[:], s[1:])
		}
		if o := int(c.high) | int(binary.LittleEndian.Uint32(four[:])&c.mask); o > 0 || tag&3 != 1 {
			offset = o
		} else if length >= 9 { // the same offset again, and a separate length
			if length, head = longRepeat(s, length-8); head > len(s) {
				return ErrBlock
			}
		}
		if s = s[head:]; offset <= 0 || offset > at || length > end-at {
			return ErrBlock
		}
		if offset > maxDistance || length < 3 {
			if text == nil {
				return ErrText
			}
			d.room(24*len(s) + 15*length)
			d.literals(text[at : at+length])
			at += length
			continue
		}
		at += length
		if length <= maxMatch {
			d.match(length, offset)
			continue
		}
		d.room(24*len(s) + 48*(length/(maxMatch-3)+2))
		d.longMatch(length, offset)
	}
	if at != end {
		return ErrBlock
	}
	return nil
}

// longLiterals reads the length of literals that is stored in bytes of its own, and returns it with
// how many bytes tag and length take. The latter is more than s has if s ends too early.
func longLiterals(s []byte) (length, head int) {
	extra := int(s[0]>>2) - 59
	if head = 1 + extra; len(s) < head {
		return 0, head
	}
	for i := extra; i > 0; i-- {
		length = length<<8 | int(s[i])
	}
	return length + 1, head
}

// longRepeat reads the length of a repetition at the last offset, which is stored in extra bytes of
// its own after the first two, and returns it with how many bytes of s that takes. The latter is
// more than s has if s ends too early.
func longRepeat(s []byte, extra int) (length, head int) {
	if head = 2 + extra; len(s) < head {
		return 0, head
	}
	length = [3]int{8, 4 + 1<<8, 4 + 1<<16}[extra-1]
	for i := range extra {
		length += int(s[2+i]) << (8 * i)
	}
	return length, head
}

// longMatch adds a repetition that is longer than maxMatch, as several. The caller must have called
// room.
func (d *deflater) longMatch(length, distance int) {
	for length > 0 {
		n := min(length, maxMatch)
		if rest := length - n; rest > 0 && rest < 3 {
			n = length - 3
		}
		d.match(n, distance)
		length -= n
	}
}

// copies decodes the tags of copies in S2. With a case for each kind, the processor predicted the
// branch wrongly so often that it took a fifth of the time.
var copies = func() (all [256]struct {
	mask         uint32 // of the four bytes after the tag: its offset
	high         uint16 // the high bits of the offset, from the tag
	length, head uint8
}) {
	for tag := range all {
		c := &all[tag]
		switch c.length = uint8(tag>>2) + 1; tag & 3 {
		case 1:
			c.mask, c.high, c.length, c.head = 0xff, uint16(tag&0xe0)<<3, uint8(tag>>2&7)+4, 2
		case 2:
			c.mask, c.head = 0xffff, 3
		case 3:
			c.mask, c.head = 0xffffffff, 5
		}
	}
	return all
}()

// finish ends the block and returns the output.
func (d *deflater) finish() []byte {
	d.put(d.litBits[endOfBlock])
	d.flush()
	if d.nacc > 0 {
		d.out = append(d.out, byte(d.acc))
	}
	if d.counted >= d.wait {
		d.learn()
	}
	return d.out
}

// flush moves whole bytes to out.
func (d *deflater) flush() {
	for ; d.nacc >= 8; d.nacc -= 8 {
		d.out = append(d.out, byte(d.acc))
		d.acc >>= 8
	}
}

// put adds bits; their number is in bit 24 and above.
func (d *deflater) put(b uint32) {
	d.flush()
	d.acc |= uint64(b&0xffffff) << d.nacc
	d.nacc += uint(b >> 24)
}

// learn makes a code from the counts (RFC 1951 §3.2.7). It contains each symbol, and rare symbols
// get a higher count than they had, because the next text may be in another script.
func (d *deflater) learn() {
	smooth := func(freq []uint32) (all [286]uint32) {
		sum := uint32(0)
		for _, n := range freq {
			sum += n
		}
		for i, n := range freq {
			all[i] = n + 1 + sum>>11
		}
		return all
	}
	for i, n := range d.lengths {
		d.lits[lengthSymbols[i].symbol] += n
	}
	clear(d.lengths[:])
	d.adopt(smooth(d.lits[:]), smooth(d.dists[:30]))
	for i := range d.lits {
		d.lits[i] /= 2
		d.dists[i] /= 2
	}
	d.counted, d.wait = 0, min(2*d.wait+1<<10, relearn)
}

// adopt makes the code from the counts of each symbol.
func (d *deflater) adopt(lits, dists [286]uint32) {
	d.build(&d.litCode, lits[:], 15)
	d.build(&d.distCode, dists[:30], 15)
	for i := range d.litBits {
		d.litBits[i] = uint32(d.litCode.code[i]) | uint32(d.litCode.size[i])<<24
		d.distBits[i] = uint32(d.distCode.code[i]) | uint32(d.distCode.size[i])<<24
	}
	for i, l := range lengthSymbols {
		size := d.litCode.size[l.symbol]
		d.lengthBits[i] = uint32(d.litCode.code[l.symbol]) | (uint32(i)-l.base)<<size | uint32(size+l.bits)<<24
	}
	out, acc, nacc := d.out, d.acc, d.nacc
	d.out, d.acc, d.nacc = make([]byte, 0, 192), 0, 0
	d.put(1 | 2<<1 | 3<<24)
	d.sizes()
	d.flush()
	d.begin, d.beginBits, d.beginN = d.out, uint32(d.acc), d.nacc
	d.out, d.acc, d.nacc = out, acc, nacc
}

// build makes a code in which no symbol has more than limit bits.
func (d *deflater) build(h *huffman, freq []uint32, limit int) {
	h.size = [286]uint8{}
	all := d.symbols[:0]
	for s, n := range freq {
		if n > 0 {
			all = append(all, uint64(n)<<16|uint64(s))
		}
	}
	d.symbols = all
	switch len(all) {
	case 0:
		return
	case 1:
		s := all[0] & 0xffff
		h.size[s], h.code[s] = 1, 0
		return
	}
	slices.Sort(all)
	var counts [64]int // number of symbols of each size
	depths(all, &counts)
	for i := limit + 1; i < len(counts); i++ {
		counts[limit] += counts[i]
		counts[i] = 0
	}
	// The shortened symbols take too much of the code space, so other symbols are made longer.
	total := 0
	for i := 1; i <= limit; i++ {
		total += counts[i] << (limit - i)
	}
	for ; total > 1<<limit; total-- {
		counts[limit]--
		for i := limit - 1; i > 0; i-- {
			if counts[i] > 0 {
				counts[i]--
				counts[i+1] += 2
				break
			}
		}
	}
	i := 0
	for size := limit; size > 0; size-- { // the rarest symbols have the most bits
		for range counts[size] {
			h.size[all[i]&0xffff] = uint8(size)
			i++
		}
	}
	var next [17]uint16 // RFC 1951 §3.2.2
	code := uint16(0)
	for size := 1; size <= limit; size++ {
		code = (code + uint16(counts[size-1])) << 1
		next[size] = code
	}
	for s := range freq {
		if n := h.size[s]; n > 0 {
			h.code[s] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
}

// depths counts how many symbols have how many bits in the optimal code. all is sorted by count.
// This is the in-place algorithm of Moffat and Katajainen.
func depths(all []uint64, counts *[64]int) {
	var buffer [286]uint64
	a := buffer[:len(all)]
	for i, s := range all {
		a[i] = s >> 16
	}
	n := len(a)
	a[0] += a[1]
	root, leaf := 0, 2
	for next := 1; next < n-1; next++ {
		take := func() uint64 {
			if leaf >= n || root < next && a[root] < a[leaf] {
				w := a[root]
				a[root] = uint64(next)
				root++
				return w
			}
			w := a[leaf]
			leaf++
			return w
		}
		w := take()
		a[next] = w + take()
	}
	a[n-2] = 0
	for next := n - 3; next >= 0; next-- {
		a[next] = a[a[next]] + 1
	}
	avail, used, depth := 1, 0, 0
	for root = n - 2; avail > 0; depth++ {
		for ; root >= 0 && int(a[root]) == depth; root-- {
			used++
		}
		counts[min(depth, len(counts)-1)] += avail - used
		avail, used = 2*used, 0
	}
}

// order is the order of the sizes in the code of sizes (RFC 1951 §3.2.7).
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// sizes writes the number of bits of each symbol, with its own code and with repetitions.
func (d *deflater) sizes() {
	const lits, dists = 286, 30
	var all, runs [316]uint8
	n := copy(all[:], d.litCode.size[:lits])
	n += copy(all[n:], d.distCode.size[:dists])
	var freq [19]uint32
	var symbols [316]uint8
	m := 0
	add := func(symbol, extra uint8) {
		symbols[m], runs[m] = symbol, extra
		freq[symbol]++
		m++
	}
	for i := 0; i < n; {
		size, run := all[i], 1
		for i+run < n && all[i+run] == size {
			run++
		}
		i += run
		if size > 0 {
			add(size, 0)
			run--
		}
		for run > 0 {
			switch {
			case size == 0 && run >= 11:
				k := min(run, 138)
				add(18, uint8(k-11))
				run -= k
			case size == 0 && run >= 3:
				add(17, uint8(run-3))
				run = 0
			case size > 0 && run >= 3:
				k := min(run, 6)
				add(16, uint8(k-3))
				run -= k
			default:
				add(size, 0)
				run--
			}
		}
	}
	d.build(&d.sizeCode, freq[:], 7)
	codes := len(order)
	for codes > 4 && d.sizeCode.size[order[codes-1]] == 0 {
		codes--
	}
	d.put((lits - 257) | 5<<24)
	d.put((dists - 1) | 5<<24)
	d.put(uint32(codes-4) | 4<<24)
	for _, s := range order[:codes] {
		d.put(uint32(d.sizeCode.size[s]) | 3<<24)
	}
	for i, s := range symbols[:m] {
		d.put(uint32(d.sizeCode.code[s]) | uint32(d.sizeCode.size[s])<<24)
		switch s {
		case 16:
			d.put(uint32(runs[i]) | 2<<24)
		case 17:
			d.put(uint32(runs[i]) | 3<<24)
		case 18:
			d.put(uint32(runs[i]) | 7<<24)
		}
	}
}

// distanceSymbol is the symbol of a distance less 1 (RFC 1951 §3.2.5).
func distanceSymbol(d uint32) uint32 {
	if d < 4 {
		return d
	}
	n := uint32(bits.Len32(d)) - 1
	return 2*n + d>>(n-1)&1
}

// lengthSymbol is the symbol for a length less 3, with its extra bits (RFC 1951 §3.2.5).
type lengthSymbol struct {
	symbol uint16
	bits   uint8
	base   uint32
}

// lengthSymbols has the symbol of each length.
var lengthSymbols = func() (all [256]lengthSymbol) {
	symbol, length := uint16(257), 0
	for symbol < 285 {
		extra := max(int(symbol-257)/4-1, 0)
		base := uint32(length)
		for range 1 << extra {
			all[length] = lengthSymbol{symbol, uint8(extra), base}
			length = min(length+1, 255)
		}
		symbol++
	}
	all[255] = lengthSymbol{285, 0, 255} // 258 has its own symbol
	return all
}()
