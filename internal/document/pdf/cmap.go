package pdf

import (
	"sort"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// cmap defines how a string is divided into codes, and the meaning of the codes: as text (a
// ToUnicode CMap) or as CIDs.
type cmap struct {
	spaces []codespace
	chars  map[uint32]string // to text
	spans  []span
	cids   []cidSpan
}

type codespace struct {
	n        int // bytes
	from, to uint32
}

// span is a range of codes whose texts differ only in the last unit.
type span struct {
	from, to uint32
	text     []uint16
	list     []string // one text for each code, instead
}

type cidSpan struct {
	from, to uint32
	cid      int
}

// maxCMap is how many entries of a CMap are read.
const maxCMap = 200_000

// readCMap reads a CMap, which is a small PostScript program, as a list of words.
func readCMap(b []byte) *cmap {
	c := &cmap{chars: map[uint32]string{}}
	l := lexer{b: b}
	var args []any
	for entries := 0; entries < maxCMap; {
		v := l.next(0)
		if _, end := v.(eof); end {
			break
		}
		o, is := v.(op)
		if !is {
			if args = append(args, v); len(args) > 4096 {
				args = args[1:]
			}
			continue
		}
		entries += len(args)
		switch o {
		case "endcodespacerange":
			for i := 0; i+1 < len(args); i += 2 {
				from, n := code(args[i])
				to, _ := code(args[i+1])
				if n > 0 && n <= 4 && len(c.spaces) < 256 {
					c.spaces = append(c.spaces, codespace{n, from, to})
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, _ := code(args[i])
				switch to := args[i+1].(type) {
				case str:
					c.chars[from] = units(to)
				case name:
					c.chars[from] = glyphText(string(to))
				}
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				from, _ := code(args[i])
				to, _ := code(args[i+1])
				s := span{from: from, to: to}
				switch v := args[i+2].(type) {
				case str:
					s.text = unitsOf(v)
				case array:
					for _, e := range v {
						t, _ := e.(str)
						s.list = append(s.list, units(t))
					}
				}
				c.spans = append(c.spans, s)
			}
		case "endcidrange":
			for i := 0; i+2 < len(args); i += 3 {
				from, _ := code(args[i])
				to, _ := code(args[i+1])
				cid, _ := args[i+2].(int)
				c.cids = append(c.cids, cidSpan{from, to, cid})
			}
		case "endcidchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, _ := code(args[i])
				cid, _ := args[i+1].(int)
				c.cids = append(c.cids, cidSpan{from, from, cid})
			}
		}
		args = args[:0]
	}
	sort.SliceStable(c.spans, func(i, j int) bool { return c.spans[i].from < c.spans[j].from })
	sort.SliceStable(c.cids, func(i, j int) bool { return c.cids[i].from < c.cids[j].from })
	return c
}

func code(v any) (c uint32, n int) {
	s, _ := v.(str)
	for _, b := range s[:min(len(s), 4)] {
		c = c<<8 | uint32(b)
	}
	return c, len(s)
}

func unitsOf(s str) []uint16 {
	if len(s) == 1 {
		return []uint16{uint16(s[0])}
	}
	out := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s) && i < 128; i += 2 {
		out = append(out, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return out
}

func units(s str) string { return string(utf16.Decode(unitsOf(s))) }

// text returns the text of a code.
func (c *cmap) text(code uint32) (string, bool) {
	if s, ok := c.chars[code]; ok {
		return s, true
	}
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].from > code }) - 1
	for ; i >= 0 && code-c.spans[i].from < 1<<16; i-- {
		s := &c.spans[i]
		if code > s.to {
			if i == 0 || c.spans[i-1].to < code {
				break
			}
			continue
		}
		n := code - s.from
		if s.list != nil {
			if int(n) < len(s.list) {
				return s.list[n], true
			}
			return "", false
		}
		if len(s.text) == 0 {
			return "", false
		}
		u := append([]uint16(nil), s.text...)
		if k := len(u) - 1; k == 1 && utf16.IsSurrogate(rune(u[0])) {
			r := utf16.DecodeRune(rune(u[0]), rune(u[1])) + rune(n)
			return string(r), true
		}
		u[len(u)-1] += uint16(n)
		return string(utf16.Decode(u)), true
	}
	return "", false
}

// cid returns the CID of a code.
func (c *cmap) cid(code uint32) int {
	i := sort.Search(len(c.cids), func(i int) bool { return c.cids[i].from > code }) - 1
	if i >= 0 && code <= c.cids[i].to {
		return c.cids[i].cid + int(code-c.cids[i].from)
	}
	return 0
}

// next returns the first code of a string, and its length.
func (c *cmap) next(s str) (code uint32, n int) {
	for n = 1; n <= min(4, len(s)); n++ {
		code = code<<8 | uint32(s[n-1])
		for _, sp := range c.spaces {
			if sp.n == n && within(code, sp) {
				return code, n
			}
		}
	}
	n = 2
	if len(c.spaces) > 0 {
		n = c.spaces[0].n
	}
	n = min(n, len(s))
	code = 0
	for _, b := range s[:n] {
		code = code<<8 | uint32(b)
	}
	return code, n
}

// within compares each byte, because a code space is a range in each byte.
func within(code uint32, sp codespace) bool {
	for i := range sp.n {
		b, from, to := code>>(8*i)&255, sp.from>>(8*i)&255, sp.to>>(8*i)&255
		if b < from || b > to {
			return false
		}
	}
	return true
}

// named are predefined CMaps, by the charset of their codes. The codes of those with UCS2 and UTF16
// have two bytes, which are the text.
var named = map[name]encoding.Encoding{
	"GBK-EUC-H": simplifiedchinese.GBK, "GBK-EUC-V": simplifiedchinese.GBK, "GB-EUC-H": simplifiedchinese.GBK, "GBKp-EUC-H": simplifiedchinese.GBK,
	"GBK2K-H": simplifiedchinese.GB18030, "GBK2K-V": simplifiedchinese.GB18030, "GBpc-EUC-H": simplifiedchinese.GBK,
	"90ms-RKSJ-H": japanese.ShiftJIS, "90ms-RKSJ-V": japanese.ShiftJIS, "90msp-RKSJ-H": japanese.ShiftJIS, "90pv-RKSJ-H": japanese.ShiftJIS,
	"EUC-H": japanese.EUCJP, "EUC-V": japanese.EUCJP, "KSC-EUC-H": korean.EUCKR, "KSC-EUC-V": korean.EUCKR, "KSCms-UHC-H": korean.EUCKR,
	"KSCms-UHC-V": korean.EUCKR, "ETen-B5-H": traditionalchinese.Big5, "ETen-B5-V": traditionalchinese.Big5, "B5pc-H": traditionalchinese.Big5,
	"HKscs-B5-H": traditionalchinese.Big5,
}
