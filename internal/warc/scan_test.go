package warc

import (
	"io"
	"strings"
	"testing"
)

// counted counts the bytes that are read.
type counted struct {
	*strings.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// A file from a stranger is full of beginnings: of records that never end, of lengths that are
// wrong, of gzip members that are none. A Scanner reads it a few times, and not once for each.
func TestScannerReadsAFewTimes(t *testing.T) {
	for name, begin := range map[string]string{
		"lengths beyond the file": "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 999999999\r\n\r\n",
		"lengths that are wrong":  "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 60000\r\n\r\n",
		"no lengths":              "WARC/1.1\r\nWARC-Type: x\r\n\r\n",
		"broken headers":          "WARC/1.1\r\nWARC-Type: x\r\n",
		"members of nothing":      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
		"members of stored bytes": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x00\x00\x80\xff\x7f",
		"members with names":      "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff",
	} {
		text := strings.Repeat(begin, 40_000)
		in := &counted{Reader: strings.NewReader(text)}
		s := NewScanner(in, "x.warc")
		for {
			if _, err := s.Next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if most := (searches+2)*int64(len(text)) + again; in.n > most {
			t.Errorf("%s: %d bytes are read of a file of %d", name, in.n, len(text))
		}
	}
}

// A header of the largest size is read, also if Rewrite makes it longer; a longer one is damage.
func TestScannerLimits(t *testing.T) {
	for _, c := range []struct {
		size int
		end  string
		some int
	}{{MaxHeader, "\r\n", 1}, {MaxHeader + 1, "\r\n", 0}, {MaxHeader - rewritten - 9, "\n", 1}, {MaxHeader, "\n", 0}} {
		head := strings.Join([]string{"WARC/1.1", "WARC-Type: response", "WARC-Record-ID: <urn:x:1>", "WARC-Date: 2026-01-01T00:00:00Z", "Content-Length: 0", "X: "}, c.end)
		text := head + strings.Repeat("x", c.size-len(head)-2*len(c.end)) + strings.Repeat(c.end, 4)
		some := 0
		for s := NewScanner(strings.NewReader(text), "x.warc"); ; some++ {
			rec, err := s.Next()
			if err == io.EOF {
				break
			}
			var b strings.Builder
			if err == nil {
				err = rec.Rewrite(&b, 0, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			if n, _, err := Whole(strings.NewReader(b.String())); n != int64(b.Len()) || err != nil {
				t.Errorf("%+v: rewritten, %d bytes of %d are read (%v)", c, n, b.Len(), err)
			}
		}
		if some != c.some {
			t.Errorf("%+v: %d records", c, some)
		}
	}
}

// Dates in the forms of others mean the same moment.
func TestDate(t *testing.T) {
	for s, want := range map[string]string{
		"2020-01-02T03:04:05Z": "20200102030405", "2020-01-02T03:04:05.678Z": "20200102030405", "20200102030405": "20200102030405", "20200102030405678": "20200102030405",
		"2020-01-02T03:04:05": "20200102030405", "2020-01-02T04:04:05+0100": "20200102030405", "2020-01-02 03:04:05 UTC": "20200102030405",
		"Thu, 02 Jan 2020 03:04:05 GMT": "20200102030405", "2020-01-02": "20200102000000", "": "", "yesterday": "", "99999999999999": "", "9999-12-31T23:59:59-01:00": "",
	} {
		got := ""
		if at, _, ok := date(s); ok {
			got = Stamp(at)
		}
		if got != want {
			t.Errorf("date(%q) = %s, want %s", s, got, want)
		}
	}
}
