package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

const signposted = `{"linkset": [
	{"anchor": "https://d.example/page/1",
	 "cite-as": [{"href": "https://doi.org/10.5072/FK2"}], "license": [{"href": "https://creativecommons.org/licenses/by/4.0/"}],
	 "type": [{"href": "https://schema.org/AboutPage"}, {"href": "https://schema.org/Dataset"}],
	 "item": [{"href": "../files/1.csv", "type": "text/csv", "title": "first"}, {"href": "https://d.example/files/2.csv"}, {"href": "mailto:x"}, {}, 7],
	 "describedby": [{"href": "/meta/1", "type": "application/ld+json"}, {"href": "1.ttl", "type": "text/turtle"}]},
	{"anchor": "https://d.example/page/2", "type": [{"href": "https://schema.org/ScholarlyArticle"}], "item": [{"href": "/2.pdf"}],
	 "describedby": [{"href": "/meta/2", "type": "application/ld+json"}]},
	{"anchor": "https://d.example/page/3", "type": [{"href": "https://schema.org/Dataset"}]},
	"nonsense", {"type": "Dataset", "item": "x"}]}`

// A set of links (RFC 9264) makes claims only for addresses that it declares as datasets.
func TestLinkset(t *testing.T) {
	claims, err := ReadJSON([]byte(signposted), Document{URL: "https://d.example/sets/a"})
	if err != nil || len(claims) != 1 {
		t.Fatalf("%+v, %v", claims, err)
	}
	c := claims[0]
	if c.Kind != crawl.DatasetLinkset || c.ID != "https://doi.org/10.5072/fk2" || c.Page != "https://d.example/page/1" || SPDX(c.License) != "CC-BY-4.0" {
		t.Errorf("%+v", c)
	}
	if want := []crawl.DatasetFile{{URL: "https://d.example/files/1.csv", MediaType: "text/csv", Name: "first"}, {URL: "https://d.example/files/2.csv"}}; !slices.Equal(c.Files, want) {
		t.Errorf("%+v", c.Files)
	}
	var described []string
	Described([]byte(signposted), "https://d.example/sets/a", func(u, media string) { described = append(described, u+" "+media) })
	if want := []string{"https://d.example/meta/1 application/ld+json", "https://d.example/sets/1.ttl text/turtle", "https://d.example/meta/2 application/ld+json"}; len(described) > 0 && !slices.Equal(described, want) {
		t.Errorf("described by %q", described)
	}
	if _, err := ReadJSON([]byte(`{"linkset": []}`), Document{URL: "https://d.example/"}); !errors.Is(err, ErrNoDatasets) {
		t.Error(err)
	}
}

// The header of a page gives the same dataset as a set of links with the same statements. It is
// marked as the source, and joined with the description of the same dataset in the page.
func TestLinksOfAHeader(t *testing.T) {
	const page, where = `[{"@type": "Dataset", "name": "Rain", "distribution": {"contentUrl": "../files/1.csv"}}]`, "https://d.example/page/1"
	set, err := ReadJSON([]byte(signposted), Document{URL: "https://d.example/sets/a"})
	if err != nil {
		t.Fatal(err)
	}
	read := func(linked string) []crawl.DatasetClaim {
		claims, err := ReadPage(PageText([]byte(linked), []byte(signposted)), Document{URL: where, Page: true})
		if err != nil {
			t.Fatal(err)
		}
		return claims
	}
	alone := read("")
	if len(alone) != 1 || alone[0].Kind != crawl.DatasetHeader || alone[0].Document != where {
		t.Fatalf("%+v", alone)
	}
	same := alone[0]
	same.Kind, same.Document, same.N = set[0].Kind, set[0].Document, set[0].N
	if !reflect.DeepEqual(same, set[0]) {
		t.Errorf("%+v, and of a set of links %+v", same, set[0])
	}
	both := read(page)
	if len(both) != 2 || both[0].N == both[1].N {
		t.Fatalf("%+v", both)
	}
	all := Merge(both)
	if len(all) != 1 || len(all[0].Sources) != 2 || all[0].Sources[0].Kind != crawl.DatasetJSONLD || all[0].Sources[1].Kind != crawl.DatasetHeader ||
		all[0].Title != "Rain" || len(all[0].Files) != 2 || all[0].Identifier != "https://doi.org/10.5072/fk2" || all[0].Provenance["license"] != where {
		t.Errorf("%+v", all)
	}
	if claims, err := ReadPage(PageText([]byte(page), nil), Document{URL: where, Page: true}); err != nil || len(claims) != 1 {
		t.Errorf("without a header: %+v, %v", claims, err)
	}
}

// Files of a dataset and described documents beyond the limits are left out.
func TestLinksetLimits(t *testing.T) {
	set := func(relation string, n int) []byte {
		links := strings.Repeat(`{"href": "/x"},`, n-1) + `{"href": "/x"}`
		return fmt.Appendf(nil, `{"linkset": [{"anchor": "/p", "type": [{"href": "https://schema.org/Dataset"}], %q: [%s]}]}`, relation, links)
	}
	for _, n := range []int{maxFiles, maxFiles + 1} {
		claims, err := ReadJSON(set("item", n), Document{URL: "https://d.example/"})
		if err != nil || len(claims) != 1 || len(claims[0].Files) != maxFiles {
			t.Errorf("%d items: %d claims, %v", n, len(claims), err)
		}
	}
	for _, n := range []int{maxDescribed, maxDescribed + 1} {
		got := 0
		if Described(set("describedby", n), "https://d.example/", func(string, string) { got++ }); got != maxDescribed {
			t.Errorf("%d documents of %d", got, n)
		}
	}
}

// A long set is read in parts, each of which is complete in itself.
func TestLongLinkset(t *testing.T) {
	var b strings.Builder
	const n = 9000
	b.WriteString(`{"linkset": [`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"anchor": "/page/%[1]d", "type": [{"href": "https://schema.org/Dataset"}], "item": [{"href": "/files/%[1]d.csv", "type": "text/csv"}], "license": [{"href": "/terms"}]}`, i)
	}
	b.WriteString(`]}`)
	if b.Len() <= MaxDocument {
		t.Fatalf("%d bytes are not long", b.Len())
	}
	got := 0
	s, err := Cut(strings.NewReader(b.String()), MaxCatalogue, func(part []byte) error {
		claims, err := ReadJSON(bytes.Clone(part), Document{URL: "https://d.example/set"})
		got += len(claims)
		return err
	})
	if err != nil || got != n || s.Parts < 2 || s.Members != n {
		t.Errorf("%d datasets in %d parts, %v", got, s.Parts, err)
	}
}

func FuzzDescribed(f *testing.F) {
	f.Add([]byte(signposted))
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		if Described(body, "https://d.example/", func(string, string) { n++ }); n > maxDescribed {
			t.Errorf("%d documents", n)
		}
		_, _ = ReadJSON(body, Document{URL: "https://d.example/"})
	})
}
