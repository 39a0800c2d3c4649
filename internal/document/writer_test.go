package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

// The result for a document is not longer than its limit and a quarter beyond, for links, however
// much escaping lengthens a text. Longer answers would be refused, and nothing of the document
// would be stored.
func TestLimitCountsWhatIsWritten(t *testing.T) {
	const most = 256 << 10
	quotes := strings.Repeat(`\"<&`, most/4)
	words := strings.Repeat(`\" `, most/3)
	var annots strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&annots, "<</A<</S/URI/URI(https://a.example/%d/%s)>>>>", i, strings.Repeat("x", 100))
	}
	links := documenttest.PDF("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Annots["+annots.String()+"]>>")
	for name, f := range map[string]document.File{
		"one word":   {Type: document.JSON, Body: []byte(`{"a":"begins ` + quotes + `"}`)},
		"words":      {Type: document.JSON, Body: []byte(`{"a":"begins ` + words + `"}`)},
		"an address": {Type: document.JSON, Body: []byte(`{"b":"begins","a":"https://` + quotes + `"}`)},
		"links":      {Type: document.PDF, Body: links},
	} {
		p, err := document.HTML(f, document.Limits{HTML: most})
		if err != nil || !p.Cut || len(p.HTML) > most+most/4+64<<10 || len(p.HTML) < most/2 || name != "links" && !strings.Contains(string(p.HTML), "begins") {
			t.Errorf("%s: %d bytes, cut %v, %v", name, len(p.HTML), p.Cut, err)
		}
	}
}
