package warc

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// A page comes to its archive as an S2 block: the fetcher has looked for repetitions in it already.
// Compressing a record is mostly just that search, so it is not done again: what the block says is
// repeated is written as DEFLATE (RFC 1951). Nor is a Huffman code made for each record. Each has
// that which fits the records before it, with all signs in it, so that a record is written in one
// pass, and can still be read by itself. That takes two fifths of the time of gzip's fastest level.

const (
	maxMatch    = 258
	maxDistance = 32 << 10
	endOfBlock  = 256
	// relearn is after how many bytes and repetitions a code is made anew, once it has been made a
	// few times. What was counted before is worth half then.
	relearn = 1 << 16
)

// ErrBlock says that an S2 block is none, or not that of the text.
var ErrBlock = errors.New("warc: not the S2 block of the text")

// deflater writes DEFLATE of what it is told in pieces, one block each. The zero value is ready.
type deflater struct {
	out  []byte
	acc  uint64 // bits that are not in out yet, between the methods fewer than eight
	nacc uint

	lits, dists   [286]uint32 // how often there was each symbol, of late
	lengths       [256]uint32 // likewise each length less 3, that is not among lits yet
	counted, wait int         // symbols since the code was made, and of how many it is made next

	// The code, as it is written: of bytes, lengths less 3 and symbols of distances the bits, and
	// from bit 24 on how many.
	litBits, distBits [286]uint32
	lengthBits        [256]uint32
	begin             []byte // what a block begins with: that it is the last one, and its code
	beginBits         uint32 // and the bits behind those bytes
	beginN            uint

	litCode, distCode, sizeCode huffman
	symbols                     []uint64
}

// huffman is a code: of each symbol its bits, reversed, and how many.
type huffman struct {
	code [286]uint16
	size [286]uint8
}

// reset begins anew, behind what is in to.
func (d *deflater) reset(to []byte) {
	if d.begin == nil {
		d.learn()
	}
	d.out, d.acc, d.nacc = append(to, d.begin...), uint64(d.beginBits), d.beginN
}

// room sees to it that so many bits can be written without looking.
func (d *deflater) room(bits int) {
	if n := bits/8 + 16; cap(d.out)-len(d.out) < n {
		d.out = slices.Grow(d.out, n)
	}
}

// literals adds bytes as they are.
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

// match adds a repetition. length is 3 to maxMatch, distance at most maxDistance. There is room for
// it.
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
	acc, nacc := d.acc|v<<(d.nacc&63), d.nacc+n // 48 bits at most, behind seven
	at := len(d.out)
	binary.LittleEndian.PutUint64(d.out[at:at+8], acc)
	d.out = d.out[:at+int(nacc>>3)]
	d.acc, d.nacc = acc>>(nacc&56), nacc&7
}

// s2 adds what an S2 block holds, of which text is the text: where something is repeated from
// further back than DEFLATE can say, or is too short for it, it is taken from there. text may be
// nil as long as that does not happen: then it is ErrText. length is its length.
func (d *deflater) s2(block, text []byte, length int) error {
	size, n := binary.Uvarint(block)
	if n <= 0 || size != uint64(length) {
		return ErrBlock
	}
	d.room(24 * len(block)) // of two bytes come 48 bits at most, but where room is made below
	at, end, offset := 0, length, 0
	for s := block[n:]; len(s) > 0; {
		tag := s[0]
		if tag&3 == 0 {
			length, head := int(tag>>2), 1
			if length >= 60 {
				extra := length - 59
				if head += extra; len(s) < head {
					return ErrBlock
				}
				length = 0
				for i := extra; i > 0; i-- {
					length = length<<8 | int(s[i])
				}
			}
			length++
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
		} else if length >= 9 { // the same offset again, and a length of its own
			extra := length - 8
			if head += extra; len(s) < head {
				return ErrBlock
			}
			length = [3]int{8, 4 + 1<<8, 4 + 1<<16}[extra-1]
			for i := range extra {
				length += int(s[2+i]) << (8 * i)
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
		for d.room(24*len(s) + 48*(length/(maxMatch-3)+2)); length > 0; {
			n := min(length, maxMatch)
			if rest := length - n; rest > 0 && rest < 3 {
				n = length - 3
			}
			d.match(n, offset)
			length -= n
		}
	}
	if at != end {
		return ErrBlock
	}
	return nil
}

// copies has what the S2 tag of a copy says. With a case for each kind a processor foresees wrongly
// which it is, so often that a fifth of the time went there.
var copies = func() (all [256]struct {
	mask         uint32 // of the four bytes behind the tag: its offset
	high         uint16 // the same, from the tag
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

// finish ends the block, and returns all.
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

// put adds some bits; how many stands from bit 24 on.
func (d *deflater) put(b uint32) {
	d.flush()
	d.acc |= uint64(b&0xffffff) << d.nacc
	d.nacc += uint(b >> 24)
}

// learn makes the code of what was counted (RFC 1951 §3.2.7). Each symbol is in it, and the rarest
// are taken to be less rare than they were: the next text may be in another script.
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

// adopt makes the code of how often there is each symbol.
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
	var counts [64]int // of symbols by their sizes
	depths(all, &counts)
	for i := limit + 1; i < len(counts); i++ {
		counts[limit] += counts[i]
		counts[i] = 0
	}
	// What was made shorter takes too much room. Another symbol is made longer for it.
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
	for size := limit; size > 0; size-- { // what is rarest has the most bits
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

// depths counts how many symbols have how many bits in the best code there is: all are sorted by
// how often they are there. It is Moffat and Katajainen's way, in place.
func depths(all []uint64, counts *[64]int) {
	var room [286]uint64
	a := room[:len(all)]
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

// order is that of the sizes of the code of sizes (RFC 1951 §3.2.7).
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// sizes writes how many bits each symbol has, under a code of its own, with repetitions.
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

// lengthSymbol is what a length less 3 is written as (RFC 1951 §3.2.5).
type lengthSymbol struct {
	symbol uint16
	bits   uint8
	base   uint32
}

// lengthSymbols has that of each.
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
	all[255] = lengthSymbol{285, 0, 255} // 258 has one of its own
	return all
}()
