package crawl

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortDetail(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{strings.Repeat("x", 256), strings.Repeat("x", 256)},
		{strings.Repeat("x", 257), strings.Repeat("x", 256-20) + "… (cut, 257 bytes)"},
		{strings.Repeat("ü", 40000), strings.Repeat("ü", (256-22)/2) + "… (cut, 80000 bytes)"},
	} {
		got := ShortDetail(tt.in)
		if got != tt.want || len(got) > MaxDetail || !utf8.ValidString(got) || ShortDetail(got) != got {
			t.Errorf("of %d bytes: %d bytes, %q", len(tt.in), len(got), got[max(0, len(got)-30):])
		}
	}
}
