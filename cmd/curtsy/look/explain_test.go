package look

import (
	"fmt"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestPrintRendering(t *testing.T) {
	for x, want := range map[[2]string]string{
		{"", ""}:                             "",
		{"needed", ""}:                       "scripts: it has no text without JavaScript; run the crawl with --render auto",
		{"done", ""}:                         "scripts: rendered",
		{"done", "1 request was left out"}:   "scripts: rendered; 1 request was left out",
		{"failed", "rendering failed: hung"}: "scripts: rendering failed: hung",
		{"failed", ""}:                       "scripts: rendering failed",
	} {
		got := ""
		printRendering(func(name, format string, args ...any) { got += name + ": " + fmt.Sprintf(format, args...) },
			crawl.Explanation{Rendering: x[0], RenderNote: x[1]})
		if got != want {
			t.Errorf("%q: %q, want %q", x, got, want)
		}
	}
}
