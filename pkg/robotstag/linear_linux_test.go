package robotstag

import (
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// The work grows in proportion to the bytes, also for hostile header values, meta contents and
// pages.
func TestReadingIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	linear := func(unit string, size int, read func(text string)) {
		t.Helper()
		small := strings.Repeat(unit, size/8/len(unit))
		large := strings.Repeat(small, 8)
		testaid.Linear(t, strconv.Quote(unit), func() { read(small) }, func() { read(large) })
	}
	for _, unit := range []string{
		"x", " ", ",", ";", "*", "=", ":", "a=", "a ", "a,", "noindex,", "Bot=noindex;", "unavailable_after:", "unavailable_after: Wed,",
		"unavailable_after: 2025-12-03 ", "unavailable_after: 2025-12-03 13:09 x y z,", "2025-12-03 ", "max-snippet:0 ", "unavailable_after: x ",
	} {
		linear(unit, MaxValue, func(text string) { fromHeader(text) })
		linear(unit, MaxValue, func(text string) { fromMeta(text) })
	}
	for _, unit := range []string{
		a, "<", "<!--", "<meta ", "<meta name=robots ", "&", "<template>", "<noscript>", "</noscript>", "<script>", "<title>", "<link>", "<meta name=robots content='",
	} {
		linear(unit, 1<<16, func(text string) { scan(text) })
	}
}
