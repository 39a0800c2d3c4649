package catalog

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A text of a site is not a formula when the table is opened.
func TestCSVHasNoFormulas(t *testing.T) {
	var b strings.Builder
	all := []crawl.DatasetInfo{{ID: "a", Name: `=HYPERLINK("http://evil.example/")`, Title: "+1", Description: "-1", License: "@x", Publisher: "\tx", Version: "a=b"}}
	if err := Export(&b, "csv", all); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	quoted := 0
	for _, cell := range rows[1] {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			t.Errorf("a formula: %q", cell)
		}
		if strings.HasPrefix(cell, "'") {
			quoted++
		}
	}
	if quoted != 5 {
		t.Errorf("%d cells are marked, want 5: %q", quoted, rows[1])
	}
}
