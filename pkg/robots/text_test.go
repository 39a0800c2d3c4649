package robots_test

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Formats §0: LF, CR and CRLF end a line, in any mix; the last line needs no end; nothing else ends
// one.
func TestFormats_0_LineEndings(t *testing.T) {
	for _, text := range []string{
		"User-agent: *\nDisallow: /a\nDisallow: /b",
		"User-agent: *\rDisallow: /a\rDisallow: /b",
		"User-agent: *\r\nDisallow: /a\r\nDisallow: /b\r\n",
		"User-agent: *\rDisallow: /a\nDisallow: /b\r\n",
		"\r\n\n\rUser-agent: *\n\n\n\r\r\nDisallow: /a\n\rDisallow: /b\r",
	} {
		check(t, rulesOf(t, text, "anybot"), "!/a", "!/b", "/c")
	}
	for _, sep := range []string{"\u0085", "\u2028", "\u2029", "\v", "\f"} {
		check(t, rulesOf(t, "User-agent: *\nDisallow: /a"+sep+"Disallow: /b\n", "anybot"), "/a", "/b")
	}
}

func TestFormats_0_LineNumbers(t *testing.T) {
	for text, want := range map[string]int{
		"User-agent: *\nDisallow: /":          2,
		"User-agent: *\rDisallow: /":          2,
		"User-agent: *\r\nDisallow: /":        2,
		"User-agent: *\n\rDisallow: /":        3,
		"User-agent: *\r\r\nDisallow: /":      3,
		"\r\n\r\nUser-agent: *\n\nDisallow:/": 5,
	} {
		if got := rulesOf(t, text, "anybot").Match("/x").Line; got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}

// Formats §0: one UTF-8 BOM at the very beginning is dropped; elsewhere it is part of its line.
func TestFormats_0_BOM(t *testing.T) {
	const bom = "\ufeff"
	check(t, rulesOf(t, bom+"User-agent: *\nDisallow: /a\n", "anybot"), "!/a")
	check(t, rulesOf(t, bom+bom+"User-agent: *\nDisallow: /a\n", "anybot"), "/a")
	check(t, rulesOf(t, " "+bom+"User-agent: *\nDisallow: /a\n", "anybot"), "/a")
	check(t, rulesOf(t, "User-agent: *\n"+bom+"Disallow: /a\nDisallow: /b\n", "anybot"), "/a", "!/b")
	check(t, rulesOf(t, bom, "anybot"), "/")
	check(t, rulesOf(t, bom[:2]+"User-agent: *\nDisallow: /a\n", "anybot"), "/a")
}

// Formats §0: UTF-16 with a BOM is decoded.
func TestFormats_0_UTF16(t *testing.T) {
	const text = "User-agent: *\r\nDisallow: /a\rDisallow: /ü\nDisallow: /😀\n"
	for _, bigEndian := range []bool{false, true} {
		b := encodeUTF16(text, bigEndian)
		want := []string{"!/a", "!/ü", "!/%F0%9F%98%80", "/b"}
		check(t, robots.Parse(b).Rules("anybot", origin), want...)
		// Half a unit at the end is dropped; half a surrogate pair invalidates only its line.
		check(t, robots.Parse(append(b, 'x')).Rules("anybot", origin), want...)
		check(t, robots.Parse(b[:len(b)-4]).Rules("anybot", origin), "!/a", "!/ü", "/%F0%9F%98%80")
		check(t, robots.Parse(b[2:]).Rules("anybot", origin), "/a")
	}
	check(t, robots.Parse([]byte("\xff\xfe")).Rules("anybot", origin), "/")
	check(t, robots.Parse([]byte("\xfe\xff\x00")).Rules("anybot", origin), "/")
}

// Formats §1.1: the limit is counted before character decoding.
func TestFormats_1_1_LimitUTF16(t *testing.T) {
	const start, last = "User-agent: *\n", "Disallow: /last"
	for _, bigEndian := range []bool{false, true} {
		for _, tt := range []struct {
			name   string
			pad    int // units beyond the limit
			after  string
			counts bool
		}{
			{"fits", 0, "", true},
			{"line end past the limit", 0, "\n", true},
			{"line across the limit", 1, "", false},
			{"line goes on past the limit", 0, "x", false},
			{"line goes on with U+0A00", 0, "\u0a00", false},
			{"line goes on with U+000A's other half", 0, "\u0aff", false},
		} {
			// minus the BOM and a line end
			units := robots.MaxBytes/2 - 1 - len(start) - len(last) - 1 + tt.pad
			text := start + strings.Repeat("#", units) + "\n" + last + tt.after
			r := robots.Parse(encodeUTF16(text, bigEndian)).Rules("anybot", origin)
			if got := !r.Match("/last").Allowed; got != tt.counts {
				t.Errorf("%s, big endian %v: last rule counts %v, want %v", tt.name, bigEndian, got, tt.counts)
			}
		}
	}
}

// Formats §0: a bad byte affects its own line only, and in a rule it is an ordinary octet.
func TestFormats_0_BadBytes(t *testing.T) {
	r := rulesOf(t, "User-agent: *\nDisallow: /\xff\n\xfe\xfd\nDisallow: /c\n", "anybot")
	check(t, r, "!/%FF", "!/\xff", "!/c", "/b", "/")
}

// Formats §0: a NUL ends its line, as in google/robotstxt and other parsers in C; an Allow with one
// opens nothing.
func TestFormats_0_NUL(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"User-agent: *\nDisallow: /a\x00b\nDisallow: /c\n", []string{"!/a", "!/ab", "!/a%00b", "!/c", "/b"}},
		{"User-agent: *\nAllow: /a\x00b\nDisallow: /\n", []string{"!/a", "!/a%00b", "!/"}},
		{"User-agent: *\nAllow /a\x00b\nDisallow: /\n", []string{"!/a"}},
		{"User-agent: *\nDisallow: \x00/a\n", []string{"/a", "/"}},
		{"User-agent: *\n\x00\nDisallow: /a\n", []string{"!/a"}},
		{"User-agent: anybot\x00x\nDisallow: /a\n", []string{"!/a"}},
		{"User-agent: *\n# \x00\nDisallow: /a#\x00\n", []string{"!/a"}},
		// An Allow ends the list of user-agent lines nevertheless.
		{"User-agent: anybot\nAllow: /\x00\nUser-agent: other\nDisallow: /\n", []string{"/"}},
	} {
		check(t, rulesOf(t, tt.text, "anybot"), tt.want...)
	}
	if d, ok := rulesOf(t, "User-agent: *\nCrawl-delay: 5\x00\n", "anybot").CrawlDelay(); !ok || d != 5*time.Second {
		t.Errorf("Crawl-delay with a NUL: %v, %v", d, ok)
	}
	if f := robots.Parse([]byte("User-agent: *\nDisallow: /a\x00b\n")); f.Odd != 1 || f.Diagnostics[0].Line != 2 {
		t.Errorf("%+v", f.Diagnostics)
	}
}

// Formats §0: a UTF-16 mark is dropped if the text is not UTF-16.
func TestFormats_0_FalseMark(t *testing.T) {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		check(t, rulesOf(t, mark+"User-agent: *\nDisallow: /a\n", "anybot"), "!/a", "/b")
		check(t, rulesOf(t, mark+"User-agent: *\r\nDisallow: /\xc3\xbc", "anybot"), "!/ü", "/b")
		long := mark + "User-agent: *\nDisallow: /a\n" + strings.Repeat("# 345678\n", robots.MaxBytes/9) + "Disallow: /b\n"
		check(t, rulesOf(t, long, "anybot"), "!/a", "/b")
	}
}

// Formats §0: names ignore ASCII case, and SP and HT are trimmed around name, colon and value; no
// other white space is.
func TestFormats_0_NamesAndBlanks(t *testing.T) {
	for _, line := range []string{
		"Disallow:/x", "DISALLOW: /x", "dIsAlLoW:\t/x", " \tDisallow \t: \t /x \t ", "Disallow:/x#c", "Disallow: /x #c", "Disallow:/x\t#",
	} {
		check(t, rulesOf(t, "uSER-aGENT\t:\t* \n"+line+"\n", "anybot"), "!/x", "!/x/y", "/y")
	}
	for _, line := range []string{"\u00a0Disallow: /x", "Diſallow: /x", "Disallow:\v/x", "Dis allow: /x", "Disallow-x: /x", "xDisallow: /x", "Disallo: /x"} {
		check(t, rulesOf(t, "User-agent: *\n"+line+"\n", "anybot"), "/x")
	}
}
