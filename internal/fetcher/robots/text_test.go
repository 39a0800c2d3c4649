package robots

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

// A robots.txt that is too long is cut before the line that crosses the limit, in
// whatever encoding.
func TestRobotsBody(t *testing.T) {
	for _, mark := range []string{"\xFE\xFF", "\xFF\xFE"} { // before text that is not UTF-16
		b := []byte(mark + "User-agent: *\nDisallow: /\n" + strings.Repeat("# 4567\n", robots.MaxBytes/7))
		if got := cutBody(b[:robots.MaxBytes+2]); len(got) < robots.MaxBytes-10 {
			t.Errorf("%x before 8-bit text: cut at %d", mark, len(got))
		}
	}
	// UTF-16 is cut between characters, at the end of a line.
	for _, bom := range []string{"\xFE\xFF", "\xFF\xFE"} {
		b := []byte(bom)
		for len(b) < robots.MaxBytes+100 {
			for _, c := range []byte("Disallow: /\u000A") {
				if bom == "\xFE\xFF" {
					b = append(b, 0, c)
				} else {
					b = append(b, c, 0)
				}
			}
		}
		if got := cutBody(b[:robots.MaxBytes+2]); len(got) < robots.MaxBytes-30 || len(got) > robots.MaxBytes || (len(got)-2)%24 != 0 {
			t.Errorf("%x: cut at %d", bom, len(got))
		}
	}
}
