package look

import (
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/crawl"
)

// maxFieldShown is how many characters of a field's values are shown in a terminal.
const maxFieldShown = 80

// FieldsLine are the fields of a page in one line for people.
func FieldsLine(all crawl.Fields) string {
	var parts []string
	for _, f := range all {
		var values []string
		for _, v := range f.Values {
			if t, err := time.Parse(time.RFC3339, v); err == nil && strings.HasSuffix(v, "T00:00:00Z") {
				v = t.Format(time.DateOnly)
			}
			values = append(values, v)
		}
		parts = append(parts, term.Clean(f.Name)+": "+term.Short(term.Clean(strings.Join(values, "; ")), maxFieldShown))
	}
	return strings.Join(parts, " | ")
}
