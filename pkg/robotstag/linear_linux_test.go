package robotstag

import (
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/lineartest"
)

// Twice the bytes must cost less than three times the work, also on input made to provoke the
// opposite: header values, meta contents, and pages.
func TestReadingIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	double := func(unit string, size int, read func(text string)) {
		t.Helper()
		small := strings.Repeat(unit, size/len(unit))
		lineartest.Double(t, strconv.Quote(unit), func() { read(small) }, func() { read(small + small) })
	}
	for _, unit := range []string{
		"x", " ", ",", ";", "*", "=", ":", "a=", "a ", "a,", "noindex,", "Bot=noindex;", "unavailable_after:", "unavailable_after: Wed,",
		"unavailable_after: 2025-12-03 ", "unavailable_after: 2025-12-03 13:09 x y z,", "2025-12-03 ", "max-snippet:0 ", "unavailable_after: x ",
	} {
		double(unit, MaxValue/2, func(text string) { fromHeader(text) })
		double(unit, MaxValue/2, func(text string) { fromMeta(text) })
	}
	for _, unit := range []string{
		a, "<", "<!--", "<meta ", "<meta name=robots ", "&", "<template>", "<noscript>", "</noscript>", "<script>", "<title>", "<link>", "<meta name=robots content='",
	} {
		double(unit, 1<<15, func(text string) { scan(text) })
	}
}
