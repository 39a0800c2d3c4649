package pdf

import (
	"bytes"
	"compress/flate"
	"compress/lzw"
	"io"
)

// decode applies the filters of a stream and returns as many bytes as can be decoded. It returns
// none for an image.
func (d *document) decode(s *stream) []byte {
	b := s.raw
	if d.crypt != nil && !s.open && s.dict["Type"] != name("XRef") {
		b = d.crypt.stream(b, s)
	}
	filters, params := d.list(s.dict, "Filter", "F"), d.list(s.dict, "DecodeParms", "DP")
	for i, f := range filters {
		if i > 8 {
			return nil
		}
		var parm dict
		if i < len(params) {
			parm, _ = d.resolve(params[i]).(dict)
		}
		left := min(maxStream, maxInflated-d.inflated)
		if left <= 0 {
			d.tooMuch = true
			return nil
		}
		switch n, _ := d.resolve(f).(name); n {
		case "FlateDecode", "Fl":
			b = d.predicted(inflate(b, left), parm)
		case "LZWDecode", "LZW":
			early := 1
			if n, ok := d.resolve(parm["EarlyChange"]).(int); ok {
				early = n
			}
			b = d.predicted(unlzw(b, early, left), parm)
		case "ASCII85Decode", "A85":
			b = un85(b)
		case "ASCIIHexDecode", "AHx":
			b = (&lexer{b: b}).hex()
		case "RunLengthDecode", "RL":
			b = unrun(b, left)
		case "Crypt":
		default:
			return nil
		}
		d.inflated += len(b)
	}
	return b
}

// list returns the value of a key as a list. A single object is a list of one.
func (d *document) list(in dict, keys ...name) array {
	for _, k := range keys {
		switch v := d.resolve(in[k]).(type) {
		case array:
			return v
		case nil:
		default:
			return array{v}
		}
	}
	return nil
}

// inflate decompresses as much as possible, because many files end early.
func inflate(b []byte, limit int) []byte {
	if len(b) > 2 {
		out := inflated(b[2:], limit) // after the zlib header; the checksum is not verified
		if len(out) > 0 {
			return out
		}
	}
	return inflated(b, limit)
}

func inflated(b []byte, limit int) []byte {
	r := flate.NewReader(bytes.NewReader(b))
	var out bytes.Buffer
	_, _ = io.Copy(&out, io.LimitReader(r, int64(limit))) // an incomplete result counts
	return out.Bytes()
}

// unlzw decompresses LZW as PDF defines it: most significant bit first, eight bits, and codes that
// become wider one code earlier, which package lzw does not support.
func unlzw(b []byte, early, limit int) []byte {
	if early == 0 {
		var out bytes.Buffer
		_, _ = io.Copy(&out, io.LimitReader(lzw.NewReader(bytes.NewReader(b), lzw.MSB, 8), int64(limit)))
		return out.Bytes()
	}
	const clearCode, end = 256, 257
	type entry struct {
		prefix int
		last   byte
		size   int
	}
	table := make([]entry, 258, 4096)
	for i := range 256 {
		table[i] = entry{-1, byte(i), 1}
	}
	var out []byte
	bits, have, width, prev := 0, 0, 9, -1
	for _, c := range b {
		bits, have = bits<<8|int(c), have+8
		if have < width {
			continue
		}
		code := bits >> (have - width) & (1<<width - 1)
		have -= width
		bits &= 1<<have - 1
		switch {
		case code == end:
			return out
		case code == clearCode:
			table, width, prev = table[:258], 9, -1
			continue
		case code > len(table) || code == len(table) && prev < 0:
			return out
		}
		from := code
		if code == len(table) {
			from = prev
		}
		at := len(out)
		n := table[from].size
		if at+n+1 > limit {
			return out
		}
		out = append(out, make([]byte, n)...)
		for i, e := at+n-1, from; i >= at && e >= 0; i-- {
			out[i] = table[e].last
			e = table[e].prefix
		}
		if code == len(table) {
			out = append(out, out[at])
		}
		if prev >= 0 && len(table) < 4096 {
			table = append(table, entry{prev, out[at], table[prev].size + 1})
		}
		prev = code
		switch n := len(table) + 1; {
		case n >= 2048:
			width = 12
		case n >= 1024:
			width = 11
		case n >= 512:
			width = 10
		}
	}
	return out
}

func un85(b []byte) []byte {
	var out []byte
	var group [5]byte
	n := 0
	flush := func(n int) {
		v := uint32(0)
		for _, c := range group {
			v = v*85 + uint32(c)
		}
		out = append(out, []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}[:n]...)
	}
	for _, c := range b {
		switch {
		case c == '~':
			b = nil
		case c == 'z' && n == 0:
			out = append(out, 0, 0, 0, 0)
		case c >= '!' && c <= 'u':
			group[n] = c - '!'
			if n++; n == 5 {
				flush(4)
				n = 0
			}
		}
		if b == nil {
			break
		}
	}
	if n > 1 {
		for i := n; i < 5; i++ {
			group[i] = 84
		}
		flush(n - 1)
	}
	return out
}

func unrun(b []byte, limit int) (out []byte) {
	for i := 0; i < len(b) && len(out) < limit; {
		n := int(b[i])
		i++
		switch {
		case n == 128:
			return out
		case n < 128:
			end := min(len(b), i+n+1)
			out = append(out, b[i:end]...)
			i = end
		case i < len(b):
			out = append(out, bytes.Repeat(b[i:i+1], 257-n)...)
			i++
		}
	}
	return out
}

// predicted reverses the PNG predictors.
func (d *document) predicted(b []byte, parm dict) []byte {
	get := func(key name, def int) int {
		if n, ok := d.resolve(parm[key]).(int); ok {
			return n
		}
		return def
	}
	if get("Predictor", 1) < 10 {
		return b
	}
	colors, bits, columns := get("Colors", 1), get("BitsPerComponent", 8), get("Columns", 1)
	if colors < 1 || colors > 64 || bits < 1 || bits > 16 || columns < 1 || columns > 1<<20 {
		return nil
	}
	pixel := max(1, colors*bits/8)
	row := (colors*bits*columns + 7) / 8
	out := make([]byte, 0, len(b))
	prev := make([]byte, row)
	for len(b) > 1 {
		kind := b[0]
		line := append([]byte(nil), b[1:min(len(b), row+1)]...)
		b = b[min(len(b), row+1):]
		for i := range line {
			var left, up, corner int
			up = int(prev[i])
			if i >= pixel {
				left, corner = int(line[i-pixel]), int(prev[i-pixel])
			}
			switch kind {
			case 1:
				line[i] += byte(left)
			case 2:
				line[i] += byte(up)
			case 3:
				line[i] += byte((left + up) / 2)
			case 4:
				line[i] += byte(paeth(left, up, corner))
			}
		}
		out = append(out, line...)
		copy(prev, line)
	}
	return out
}

func paeth(a, b, c int) int {
	p := a + b - c
	pa, pb, pc := abs(p-a), abs(p-b), abs(p-c)
	if pa <= pb && pa <= pc {
		return a
	}
	if pb <= pc {
		return b
	}
	return c
}

func abs(n int) int { return max(n, -n) }
