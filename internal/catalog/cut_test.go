package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// bigCatalogue is a data.json in DCAT-US with n datasets.
func bigCatalogue(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld", "conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n ")
		}
		fmt.Fprintf(&b, `{"@type": "dcat:Dataset", "title": "Rain of \"year\" %d \\", "identifier": "https://p.example/d/%d", "accessLevel": "public",
			"description": %q, "keyword": ["rain", "n%d"], "distribution": [{"downloadURL": "https://p.example/f/%d.csv", "mediaType": "text/csv"}]}`,
			i, i, strings.Repeat("x}]", i%200), i, i)
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// example returns an answer of a catalogue.
func example(name string) []byte {
	b, err := os.ReadFile("testdata/catalogues/" + name)
	if err != nil {
		panic(err)
	}
	return b
}

// cutAll returns the claims in all parts of a document.
func cutAll(t *testing.T, body []byte) (claims []crawl.DatasetClaim, s Summary) {
	t.Helper()
	d := Document{URL: "https://p.example/data.json", Fetched: time.Unix(1, 0)}
	s, err := Cut(bytes.NewReader(body), MaxCatalogue, func(part []byte) error {
		if len(part) > PartBytes+maxMember+maxNote+100 {
			t.Errorf("a part of %d bytes", len(part))
		}
		more, err := ReadJSON(part, d)
		claims = append(claims, more...)
		d.First += MaxClaims
		if errors.Is(err, ErrNoDatasets) {
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return claims, s
}

// A document that is read in parts makes the same claims as when it is read at once.
func TestCutReadsTheSame(t *testing.T) {
	for name, body := range map[string][]byte{
		"DCAT-US":    bigCatalogue(3000),
		"one":        []byte(`{"dataset":[{"title":"a","x":1}]}`),
		"after":      []byte("\xef\xbb\xbf { \"dataset\" : [ {\"title\":\"a\",\"x\":1} , {\"title\":\"b\",\"x\":1} ] , \"x\":1.5e3, \"y\":null }  "),
		"schema.org": []byte(`{"@type":"DataCatalog","mainEntity":{"itemListElement":[{"@type":"Dataset","name":"a"}]},"dataset":[{"@type":"Dataset","name":"b"}]}`),
		"list":       []byte(`[{"@type":"Dataset","name":"a"},{"@type":"Dataset","name":"b"}]`),
		"prefixed":   []byte(`{"@type":"dcat:Catalog","dcat:dataset":[{"@type":"dcat:Dataset","dct:title":"a"}]}`),
		"context": []byte(`{"@context":{"titel":"dct:title","dateien":"dcat:distribution"},"mainEntity":{"dataset":[{"@type":"Dataset","titel":"a"}]},
			"dataset":[{"titel":"b","dateien":[{"downloadURL":"https://p.example/b.csv"}]}]}`),
		"CKAN": []byte(`{"success":true,"result":{"count":2,"results":[{"name":"a","title":"A","resources":[{"url":"https://p.example/a.csv"}]},
			{"name":"b","resources":[]}]}}`),
		"datasets":   []byte(`{"datasets":[{"title":"a","accessLevel":"public","description":"d","identifier":"i"}]}`),
		"1.0":        []byte(`[{"title":"a","accessLevel":"public","description":"d","keyword":["k"],"accessURL":"https://p.example/a.csv"}, {"title":"b","accessLevel":"public"}]`),
		"DKAN 1":     example("dkan-1.json"),
		"Dataverse":  example("dataverse-search.json"),
		"Socrata":    example("socrata.json"),
		"views":      example("socrata-views.json"),
		"ArcGIS":     example("arcgis.json"),
		"ArcGIS 3":   example("arcgis-v3.json"),
		"Zenodo":     example("zenodo.json"),
		"Figshare":   example("figshare-list.json"),
		"OpenAIRE":   example("openaire.json"),
		"links":      example("linkset.json"),
		"bad member": []byte(`{"dataset":[{"title":"a","x":1},{"title":bad},{"title":"b","x":1}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			claims, s := cutAll(t, body)
			if s.Bytes != int64(len(body)) {
				t.Errorf("%d bytes read, want %d", s.Bytes, len(body))
			}
			if name == "bad member" {
				if len(claims) != 2 || s.LeftOut != 1 {
					t.Errorf("%d claims, %d left out", len(claims), s.LeftOut)
				}
				return
			}
			whole, err := ReadJSON(body, Document{URL: "https://p.example/data.json", Fetched: time.Unix(1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			numbers := map[int]bool{}
			for i := range claims {
				numbers[claims[i].N] = true
				claims[i].N = 0
			}
			for i := range whole {
				whole[i].N = 0
			}
			if len(numbers) != len(claims) {
				t.Errorf("%d claims have %d numbers", len(claims), len(numbers))
			}
			if name == "schema.org" || name == "context" { // the order does not matter
				slices.SortFunc(whole, func(a, b crawl.DatasetClaim) int { return strings.Compare(a.Title, b.Title) })
			}
			if len(claims) == 0 || !reflect.DeepEqual(claims, whole) {
				t.Errorf("in parts %d claims:\n%.300v\nat once %d:\n%.300v", len(claims), claims, len(whole), whole)
			}
			if name == "DCAT-US" && (len(claims) != 3000 || s.Parts < 4) {
				t.Errorf("%d claims in %d parts", len(claims), s.Parts)
			}
		})
	}
}

// The results of Cut for documents that it cannot read to their end.
func TestCutEnds(t *testing.T) {
	whole := bigCatalogue(10)
	for _, tt := range []struct {
		name, body string
		limit      int
		want       error
	}{
		{"at the limit", string(whole), len(whole), nil},
		{"past it", string(whole), len(whole) - 1, ErrCatalogueLarge},
		{"cut off", string(whole[:len(whole)/2]), 1 << 20, nil},
		{"empty", "", 1 << 20, ErrBroken},
		{"no JSON", "<html>", 1 << 20, ErrBroken},
		{"a text", `"dataset"`, 1 << 20, ErrNoCatalogue},
		{"no list", `{"x":{"y":[1,2]}}`, 1 << 20, ErrNoCatalogue},
		{"an empty list", `{"dataset":[]}`, 1 << 20, ErrNoCatalogue},
		{"more behind it", `{"dataset":[{"title":"a","x":1}]} {}`, 1 << 20, nil},
		{"a long member", `{"dataset":[{"title":"a"},"` + strings.Repeat("x", maxMember) + `",{"title":"b"}]}`, 1 << 20, nil},
		{"a list", `[{"@type":"Dataset"}` + strings.Repeat(`,{}`, 9) + "]", 1 << 20, nil},
		{"a list of nothing", "[{}" + strings.Repeat(`,{}`, 9) + "]", 1 << 20, ErrNoCatalogue},
		{"as many lists as may be", `{"dataset":[{}]` + strings.Repeat(`,"dataset":[{}]`, MaxParts(1<<20)-1) + `}`, 1 << 20, nil},
		{"one more", `{"dataset":[{}]` + strings.Repeat(`,"dataset":[{}]`, MaxParts(1<<20)) + `}`, 1 << 20, ErrNoCatalogue},
		{"a long value", `{"x":"` + strings.Repeat("x", 1<<20) + `","dataset":[{"title":"a"}]}`, 2 << 20, nil},
	} {
		s, err := Cut(iotest.OneByteReader(strings.NewReader(tt.body)), int64(tt.limit), func([]byte) error { return nil })
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if tt.name == "a long member" && (s.Members != 2 || s.LeftOut != 1) {
			t.Errorf("%s: %+v", tt.name, s)
		}
	}
	torn := errors.New("torn")
	if _, err := Cut(io.MultiReader(bytes.NewReader(whole[:100]), iotest.ErrReader(torn)), 1<<20, nil); !errors.Is(err, torn) {
		t.Errorf("an error of the reader: %v", err)
	}
	stop := errors.New("stop")
	if _, err := Cut(bytes.NewReader(whole), 1<<20, func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of who takes the parts: %v", err)
	}
}

// The other pages of a catalogue that are found on one of its pages.
func TestPaging(t *testing.T) {
	ckan := func(count, members int) string {
		return fmt.Sprintf(`{"result":{"count":%d,"results":[%s]}}`, count, strings.Trim(strings.Repeat(`{"name":"a","resources":[]},`, members), ","))
	}
	const search = "https://p.example/api/3/action/package_search"
	for _, tt := range []struct {
		name, u, body string
		want          []string
	}{
		{"all there", search, ckan(3, 3), nil},
		{"two more", search + "?q=x", ckan(1500, 10), []string{search + "?q=x&rows=1000&start=10", search + "?q=x&rows=1000&start=1010"}},
		{"it gives fewer than asked", search + "?rows=500", ckan(250, 100), []string{search + "?rows=100&start=100", search + "?rows=100&start=200"}},
		{"not the first", search + "?rows=1000&start=10", ckan(5000, 1000), nil},
		{"a gap", search + "?rows=1000&start=10", ckan(5000, 600), []string{search + "?rows=600&start=610"}},
		{"nothing", search + "?start=9000", ckan(5000, 0), nil},
		{"hydra", "https://p.example/c.jsonld", `{"@graph":[{"@id":"?page=1","@type":"hydra:PagedCollection","hydra:nextPage":"?page=2","hydra:lastPage":"?page=4"}]}`,
			[]string{"https://p.example/c.jsonld?page=2", "https://p.example/c.jsonld?page=3", "https://p.example/c.jsonld?page=4"}},
		{"hydra view", "https://p.example/c.jsonld", `{"dataset":[{"title":"a"}],"hydra:view":{"@id":"?a=1","hydra:next":{"@id":"?a=x"},"hydra:last":"?b=1"}}`,
			[]string{"https://p.example/c.jsonld?a=x"}},
		{"Dataverse", "https://p.example/api/search?q=x&per_page=10", `{"status":"OK","data":{"q":"x","total_count":1500,"start":0,"items":[` + strings.Repeat(`{"type":"dataset"},`, 9) + `{"type":"file"}]}}`,
			[]string{"https://p.example/api/search?per_page=1000&q=x&start=10", "https://p.example/api/search?per_page=1000&q=x&start=1010"}},
		{"Socrata", "https://p.example/api/catalog/v1", `{"results":[{"resource":{}},{"resource":{}}],"resultSetSize":3,"timings":{}}`, []string{"https://p.example/api/catalog/v1?limit=1000&offset=2"}},
		{"Zenodo", "https://p.example/api/records?size=1", `{"hits":{"hits":[{"id":1}],"total":2},"links":{"self":"https://p.example/api/records?page=1&size=1","next":"https://p.example/api/records?page=2&size=1"}}`,
			[]string{"https://p.example/api/records?page=2&size=1"}},
		{"Zenodo, the last", "https://p.example/api/records?page=2&size=1", `{"hits":{"hits":[{"id":1}],"total":2},"links":{"self":"https://p.example/api/records?page=2&size=1"}}`, nil},
		{"OGC API", "https://p.example/api/search/v1/collections/dataset/items", `{"features":[{"id":"1"}],"links":[{"rel":"self","href":"?startindex=1"},{"rel":"next","href":"?startindex=2"}]}`,
			[]string{"https://p.example/api/search/v1/collections/dataset/items?startindex=2"}},
		{"JSON:API", "https://p.example/api/v3/datasets", `{"data":[{"id":"1"}],"meta":{"total":2,"next":"https://p.example/api/v3/datasets?page%5Bkey%5D=x"}}`, []string{"https://p.example/api/v3/datasets?page%5Bkey%5D=x"}},
		{"a number is no page", "https://p.example/c.json", `{"dataset":[{"title":"a"}],"links":{"next":2},"meta":[]}`, nil},
		{"another site", "https://p.example/c.jsonld", `{"dataset":[{"title":"a"}],"hydra:next":"https://q.example/c.jsonld"}`, nil},
	} {
		s, err := Cut(strings.NewReader(tt.body), 1<<20, func([]byte) error { return nil })
		if err != nil && !errors.Is(err, ErrNoCatalogue) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := s.Pages.More(tt.u, s.Members); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	endless := Paging{count: 1 << 40}
	if got := len(endless.More(search, 1)); got > MaxCataloguePages {
		t.Errorf("%d pages of one catalogue", got)
	}
	endless = Paging{next: "?page=2", last: "?page=1000000"}
	if got := len(endless.More(search[:20], 1)); got != MaxCataloguePages-1 {
		t.Errorf("%d pages of one catalogue", got)
	}
}

func FuzzCut(f *testing.F) {
	f.Add(bigCatalogue(2))
	f.Add([]byte(`{"result":{"count":3,"results":[{"name":"a\"","resources":[{}]}]}}`))
	f.Add([]byte(`[1,"\u0000",{"a":[[]]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		members := 0
		s, err := Cut(bytes.NewReader(body), 1<<20, func(part []byte) error {
			if !json.Valid(part) {
				t.Fatalf("a part that is no JSON: %q", part)
			}
			members++
			return nil
		})
		if err == nil && (s.Parts != members || s.Bytes != int64(len(body))) {
			t.Fatalf("%+v of %d bytes in %d parts", s, len(body), members)
		}
		if json.Valid(body) && err != nil && !errors.Is(err, ErrNoCatalogue) && !errors.Is(err, ErrBroken) {
			t.Fatal(err)
		}
		s.Pages.More("https://p.example/api/3/action/package_search?rows=2", s.Members)
	})
}
