package catalog

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// The cost of reading a document is limited whatever it contains: 64 MiB in addition to its size,
// and time in proportion to its size.
func TestNoDocumentCostsMuch(t *testing.T) {
	for _, size := range []int{87 << 10, 1<<20 - 1<<10} {
		testaid.CheckCost(t, "a document", size, testaid.JSONBombs, func(b testaid.Bomb) func() {
			return func() { _, _ = ReadJSON(b.Body, Document{URL: "https://a.example/" + b.Name, Page: true}) }
		})
	}
}

// A document beyond a limit causes an error, and what was read before the limit is returned.
func TestDocumentLimits(t *testing.T) {
	doc := Document{URL: "https://a.example/x"}
	many := func(n int) []byte { // values in all: n
		return []byte(`{"@type":"Dataset","name":"[,{\",","a":[` + strings.Repeat("1,", n-4) + `1]}`)
	}
	if n := values(many(1000), 1<<20); n != 1000 {
		t.Fatalf("%d values", n)
	}
	if claims, err := ReadJSON(many(maxValues), doc); err != nil || len(claims) != 1 {
		t.Errorf("at the limit: %d claims, %v", len(claims), err)
	}
	if claims, err := ReadJSON(many(maxValues+1), doc); !errors.Is(err, ErrTooMuch) || len(claims) != 0 {
		t.Errorf("past it: %d claims, %v", len(claims), err)
	}
	shared := func(sets int) []byte {
		return []byte(`{"@graph":[{"@id":"#r","field":[` + strings.TrimSuffix(strings.Repeat(`{"name":"f"},`, 1000), ",") + `]}` +
			strings.Repeat(`,{"@type":"Dataset","name":"n","version":"x","recordSet":{"@id":"#r"}}`, sets) + `]}`)
	}
	each := 1000*(costColumn+costValue+2*costText) + costClaim
	if claims, err := ReadJSON(shared(maxWork/each/4), doc); err != nil || len(claims) != 1 {
		t.Errorf("well below: %d claims, %v", len(claims), err)
	}
	claims, err := ReadJSON(shared(4*maxWork/each), doc)
	if !errors.Is(err, ErrCut) || len(claims) != 1 {
		t.Errorf("far past: %d claims, %v", len(claims), err)
	}
	for _, c := range claims {
		if len(c.Columns) != 1000 {
			t.Errorf("a claim of %d columns was made when the budget was spent", len(c.Columns))
		}
	}
}

// An ordinary catalogue of 1 MiB is read completely.
func TestOrdinaryCatalogueIsRead(t *testing.T) {
	one := `{"@type":"dcat:Dataset","dct:identifier":"https://a.example/d/%","dct:title":"Trees of the town, %","dct:description":"All trees by the street.",` +
		`"dct:license":{"@id":"https://creativecommons.org/licenses/by/4.0/"},"dct:publisher":{"@type":"foaf:Agent","foaf:name":"The town"},"dcat:keyword":["tree","street","town"],` +
		`"dct:issued":{"@value":"2020-01-01"},"dcat:distribution":[{"@type":"dcat:Distribution","dct:title":"CSV","dcat:downloadURL":{"@id":"https://a.example/%.csv"},"dcat:mediaType":"text/csv","dcat:byteSize":"12"},` +
		`{"@type":"dcat:Distribution","dct:title":"JSON","dcat:downloadURL":{"@id":"https://a.example/%.json"},"dcat:mediaType":"application/json","dcat:byteSize":"12"}]}`
	var b strings.Builder
	n := 0
	b.WriteString(`{"@graph":[`)
	for ; b.Len()+len(one)+20 < MaxDocument; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(one, "%", strconv.Itoa(n)))
	}
	b.WriteString("]}")
	if claims, err := ReadJSON([]byte(b.String()), Document{URL: "https://a.example/data.json"}); err != nil || len(claims) != n || len(claims[n-1].Files) != 2 {
		t.Errorf("%d of %d datasets, %v", len(claims), n, err)
	}
}
