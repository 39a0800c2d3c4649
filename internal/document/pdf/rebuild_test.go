package pdf

import (
	"fmt"
	"strings"
	"testing"
)

// In a file without a trailer the last catalog counts, as the last trailer would. The result must
// be the same each time: otherwise an unchanged document would be stored and announced again and
// again.
func TestLastCatalogCounts(t *testing.T) {
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i := range 20 {
		n := 10 * (20 - i)
		text := fmt.Sprintf("BT /F 10 Tf (version %d) Tj ET", i)
		fmt.Fprintf(&b, "%d 0 obj<</Type/Catalog/Pages %d 0 R>>endobj\n%d 0 obj<</Kids[%d 0 R]>>endobj\n", n, n+1, n+1, n+2)
		fmt.Fprintf(&b, "%d 0 obj<</Contents %d 0 R/Resources<</Font<</F %d 0 R>>>>>>endobj\n", n+2, n+3, n+4)
		fmt.Fprintf(&b, "%d 0 obj<</Length %d>>stream\n%s\nendstream endobj\n%d 0 obj<</Type/Font/Subtype/Type1>>endobj\n", n+3, len(text), text, n+4)
	}
	out, err := Read([]byte(b.String()), Limits{})
	if err != nil || len(out.Paragraphs) != 1 || out.Paragraphs[0].Text != "version 19" {
		t.Errorf("%+v, %v", out, err)
	}
}
