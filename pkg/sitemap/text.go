package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// readText reads one URL per line. If the first line that is not blank is not a URL, the file has
// another form.
func (s *reader) readText(in *bufio.Reader) error {
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) { // no URL is this long
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			line = nil
			s.sum.Skipped++
		}
		if errors.Is(err, errEnough) {
			line = nil // it may be incomplete
		}
		for part := range bytes.SplitSeq(line, []byte{'\r'}) {
			if part = bytes.TrimSpace(part); len(part) == 0 {
				continue
			}
			if !looksLikeURL(part) {
				if s.sum.Kind == Unknown {
					return ErrNotSitemap
				}
				s.sum.Skipped++
				continue
			}
			s.sum.Kind = Text
			if err := s.entry(Entry{Loc: string(part), Priority: 0.5}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// looksLikeURL reports whether a line is an absolute http(s) URL without blanks: a text sitemap
// must contain nothing else.
func looksLikeURL(line []byte) bool {
	lower := bytes.ToLower(line[:min(len(line), 8)])
	return (bytes.HasPrefix(lower, []byte("http://")) || bytes.HasPrefix(lower, []byte("https://"))) && !bytes.ContainsAny(line, " \t<>\"")
}

// utf16Reader converts UTF-16 with a byte order mark to UTF-8.
type utf16Reader struct {
	r     *bufio.Reader
	big   bool
	began bool
	out   []byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		c, err := u.unit()
		if err != nil {
			return 0, err
		}
		if !u.began {
			u.began = true
			if c == 0xfffe { // the mark with swapped bytes
				u.big = !u.big
				continue
			}
			if c == 0xfeff {
				continue
			}
		}
		r := rune(c)
		if utf16.IsSurrogate(r) {
			low, err := u.unit()
			if err != nil {
				return 0, err
			}
			r = utf16.DecodeRune(r, rune(low))
		}
		u.out = utf8.AppendRune(u.out[:0], r)
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) unit() (uint16, error) {
	a, err := u.r.ReadByte()
	if err != nil {
		return 0, err
	}
	b, err := u.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if u.big {
		a, b = b, a
	}
	return uint16(a) | uint16(b)<<8, nil
}
