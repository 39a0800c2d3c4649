package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// graphNodes returns n datasets, and the nodes they refer to: a distribution and a checksum for
// each, and publishers and licences that many share. Some publishers are inside the first dataset
// that has one.
func graphNodes(n int) (datasets, others []string) {
	for i := range n {
		publisher := fmt.Sprintf(`{"@id":"_:p%d"}`, i%7)
		if i%7 == 3 && i < 7 {
			publisher = `{"@id":"_:p3","@type":"foaf:Agent","foaf:name":"Office 3"}`
		}
		datasets = append(datasets, fmt.Sprintf(`{"@id":"https://p.example/d/%[1]d","@type":"dcat:Dataset","dct:title":"Rain %06[1]d","dct:description":%[2]q,
			"dct:publisher":%[3]s,"dct:license":{"@id":"https://p.example/terms/%[4]d"},"dcat:distribution":[{"@id":"https://p.example/d/%[1]d#f"}],"dcat:inCatalog":{"@id":"https://p.example/"}}`,
			i, strings.Repeat("x}]", i%150), publisher, i%3))
		others = append(others,
			fmt.Sprintf(`{"@id":"https://p.example/d/%[1]d#f","@type":"dcat:Distribution","dcat:downloadURL":{"@id":"https://p.example/f/%[1]d.csv"},"dcat:mediaType":"text/csv","spdx:checksum":{"@id":"_:c%[1]d"}}`, i),
			fmt.Sprintf(`{"@id":"_:c%d","spdx:algorithm":{"@id":"spdx:checksumAlgorithm_sha256"},"spdx:checksumValue":"%064x"}`, i, i))
	}
	for i := range 7 {
		if i != 3 {
			others = append(others, fmt.Sprintf(`{"@id":"_:p%[1]d","@type":"foaf:Agent","foaf:name":"Office %[1]d"}`, i))
		}
	}
	for i := range 3 {
		others = append(others, fmt.Sprintf(`{"@id":"https://p.example/terms/%[1]d","dct:title":"Terms %[1]d"}`, i))
	}
	return datasets, others
}

func graphOf(nodes ...[]string) []byte {
	return []byte(`{"@context":{"dcat":"http://www.w3.org/ns/dcat#"},"@graph":[` + strings.Join(slices.Concat(nodes...), ",\n") + `]}`)
}

func byTitle(all []crawl.DatasetClaim) []crawl.DatasetClaim {
	all = slices.Clone(all)
	for i := range all {
		all[i].N = 0
	}
	slices.SortStableFunc(all, func(a, b crawl.DatasetClaim) int { return strings.Compare(a.Title, b.Title) })
	return all
}

// A graph that is read in parts makes the same claims as at once, for every order of its nodes and
// all forms of references.
func TestGraphReadsTheSame(t *testing.T) {
	datasets, others := graphNodes(600)
	mixed := slices.Concat(datasets, others)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	padding := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf(`{"@id":"_:x%d","x":%q}`, i, strings.Repeat("y", 5000)))
		}
		return all
	}
	small := func(nodes ...string) []byte { return graphOf(nodes) }
	for name, body := range map[string][]byte{
		"nodes behind":  graphOf(datasets, others),
		"nodes before":  graphOf(others, datasets),
		"mixed":         graphOf(mixed),
		"a list":        []byte("[" + strings.Join(mixed, ",") + "]"),
		"context after": []byte(`{"@graph":[` + strings.Join(slices.Concat([]string{`{"@type":"Satz","titel":"A","dateien":"ex:1"}`}, padding(80), []string{`{"@id":"ex:1","downloadURL":"https://p.example/a.csv"}`}), ",") + `],"@context":{"titel":"dct:title","dateien":"dcat:distribution","Satz":"dcat:Dataset"}}`),
		"aliases": []byte(`{"@context":{"id":"@id","type":"@type","graph":"@graph"},"graph":[{"type":"Dataset","name":"A","distribution":{"id":"_:1"}},
			{"id":"_:1","contentUrl":"https://p.example/a.csv"}]}`),
		"named graphs": small(`{"@id":"g","@graph":[{"@type":"Dataset","name":"A","distribution":{"@id":"_:1"}}]}`, `{"@graph":[{"@id":"_:1","contentUrl":"https://p.example/a.csv"}]}`),
		"strings":      small(slices.Concat([]string{`{"@type":"dcat:Catalog","dataset":["ex:1","ex:2","ex:none"]}`, `{"@id":"ex:1","title":"A","distribution":"ex:f","publisher":"ex:p"}`}, padding(80), []string{`{"@id":"ex:2","@type":"Dataset","title":"B"}`, `{"@id":"ex:f","downloadURL":"/a.csv"}`, `{"@id":"ex:p","name":"P"}`})...),
		"embedded":     small(slices.Concat([]string{`{"@type":"dcat:Catalog","dataset":[{"@id":"ex:1","title":"A","distribution":{"@id":"ex:f"}},{"title":"B","distribution":"ex:f"}]}`}, padding(80), []string{`{"@id":"ex:f","downloadURL":"/a.csv"}`})...),
		"named twice":  small(`{"@id":"_:p","name":"first"}`, `{"@type":"Dataset","name":"A","publisher":{"@id":"_:p"}}`, `{"@id":"_:p","name":"second"}`),
		"a cycle":      small(`{"@id":"_:a","@type":"Dataset","name":"A","isPartOf":{"@id":"_:b"},"publisher":{"@id":"_:b"}}`, `{"@id":"_:b","name":"B","publisher":{"@id":"_:a"},"license":{"@id":"_:b"}}`),
		"parts of one": small(`{"@id":"_:a","@type":"Dataset","name":"A","hasPart":[{"@type":"Dataset","name":"B","creator":{"@id":"_:c"}},{"@id":"_:d"}]}`, `{"@id":"_:c","name":"C"}`, `{"@id":"_:d","@type":"Dataset","name":"D"}`),
	} {
		t.Run(name, func(t *testing.T) {
			claims, s := cutAll(t, body)
			whole, err := ReadJSON(body, Document{URL: "https://p.example/data.json", Fetched: time.Unix(1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			numbers := map[int]bool{}
			for _, c := range claims {
				numbers[c.N] = true
			}
			if len(numbers) != len(claims) || s.LeftOut != 0 || len(body) > 400_000 && strings.Contains(string(body), "Rain") && s.Parts < 2 {
				t.Errorf("%d claims have %d numbers; %+v", len(claims), len(numbers), s)
			}
			if got, want := byTitle(claims), byTitle(whole); len(got) == 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("in parts %d claims:\n%.600v\nat once %d:\n%.600v", len(got), got, len(want), want)
			}
			if graphSpace.Load() != 0 {
				t.Errorf("%d bytes are still taken", graphSpace.Load())
			}
		})
	}
}

// All datasets of a graph of several MiB are read, each with the nodes that it refers to, in both
// orders. Memory has only the names of the nodes.
func TestLongGraph(t *testing.T) {
	const n = 5000
	datasets, others := graphNodes(n)
	var list strings.Builder // a catalogue that names all its datasets is longer than a node may be
	list.WriteString(`{"@id":"https://p.example/","@type":"dcat:Catalog","dct:title":"All","dcat:dataset":[`)
	for i := range 20_000 {
		fmt.Fprintf(&list, `{"@id":"https://p.example/d/%d"},`, i)
	}
	catalogue := []string{strings.TrimSuffix(list.String(), ",") + "]}"}
	if len(catalogue[0]) <= maxMember {
		t.Fatal("the catalogue is short")
	}
	for name, body := range map[string][]byte{"before": graphOf(catalogue, others, datasets), "behind": graphOf(datasets, others, catalogue)} {
		if len(body) < 4<<20 {
			t.Fatalf("%d bytes", len(body))
		}
		seen, copied := map[string]bool{}, 0
		var most, before uint64
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		before = m.HeapAlloc
		s, err := Cut(bytes.NewReader(body), MaxCatalogue, func(part []byte) error {
			copied += len(part)
			claims, err := ReadJSON(part, Document{URL: "https://p.example/c.jsonld"})
			for i := range claims {
				c := &claims[i]
				var at int
				if _, err := fmt.Sscanf(c.Title, "Rain %d", &at); err != nil || seen[c.Title] {
					t.Errorf("%q", c.Title)
				}
				seen[c.Title] = true
				if len(c.Files) != 1 || c.Files[0].URL != fmt.Sprintf("https://p.example/f/%d.csv", at) || c.Files[0].SHA256 != fmt.Sprintf("%064x", at) ||
					c.Publisher != fmt.Sprintf("Office %d", at%7) || !strings.HasPrefix(c.License, "https://p.example/terms/") && c.License != fmt.Sprintf("Terms %d", at%3) {
					t.Errorf("%+v", c)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			return err
		})
		if err != nil || len(seen) != n || s.Members != n || s.LeftOut != 0 || s.Bytes != int64(len(body)) {
			t.Errorf("%s: %d datasets, %+v, %v", name, len(seen), s, err)
		}
		// Some nodes occur in two parts, but not all of them in all parts.
		if copied > 2*len(body) || s.Parts < 10 {
			t.Errorf("%s: %d bytes in %d parts of a document of %d", name, copied, s.Parts, len(body))
		}
		t.Logf("%s: %d bytes in %d parts of %d; memory grew by %d", name, copied, s.Parts, len(body), int64(most)-int64(before))
		if grown := int64(most) - int64(before); grown > int64(len(body)) {
			t.Errorf("%s: memory grew by %d bytes for a document of %d", name, grown, len(body))
		}
	}
}

// A dataset that cannot be delivered completely is left out and counted.
func TestGraphLimits(t *testing.T) {
	fill := func(n int) string { return strings.Repeat("y", n) }
	set := `{"@type":"Dataset","name":"A","distribution":[{"@id":"_:1"},{"@id":"_:2"}]}`
	file := func(i, n int) string {
		return fmt.Sprintf(`{"@id":"_:%[1]d","contentUrl":"/%[1]d.csv","x":%[2]q}`, i, fill(n))
	}
	space := maxGraphPart - len(set) - len(file(1, 0)) - len(file(2, 0)) - 3
	for _, tt := range []struct {
		name          string
		nodes         []string
		sets, leftOut int
	}{
		{"a part's limit", []string{set, file(1, space/2), file(2, space-space/2)}, 2, 0},
		{"past it", []string{set, file(1, space/2), file(2, space-space/2+1)}, 1, 1},
		{"a distribution's limit", []string{set, file(1, 1), file(2, maxMember-len(file(2, 0)))}, 2, 0},
		{"past it", []string{set, file(1, 1), file(2, maxMember-len(file(2, 0))+1)}, 1, 1},
		{"a dataset past it", []string{`{"@type":"Dataset","name":"B","x":"` + fill(maxMember) + `"}`}, 1, 1},
		{"a text past it, which no dataset needs", []string{`{"@id":"_:9","x":"` + fill(maxMember) + `"}`}, 1, 0},
		{"no JSON", []string{`{"@type":"Dataset","name":tru}`}, 1, 1},
		{"a name within another node", []string{`{"@type":"Catalog","dataset":["ex:1"]}`, `{"@type":"Note","x":{"@id":"ex:1","name":"B"}}`}, 1, 1},
		{"a long catalogue of its own", []string{`{"@type":"Catalog","x":"` + fill(maxMember) + `","dataset":[{"title":"B","publisher":{"@id":"_:p"}},"ex:1",{"@id":"_:p","@type":"Agent","name":"P"}]}`, `{"@id":"ex:1","title":"C"}`}, 3, 0},
	} {
		body := graphOf([]string{`{"@type":"Dataset","name":"always"}`}, tt.nodes)
		sets := 0
		s, err := Cut(bytes.NewReader(body), MaxCatalogue, func(part []byte) error {
			if len(part) > MaxDocument {
				t.Errorf("%s: a part of %d bytes", tt.name, len(part))
			}
			claims, err := ReadJSON(part, Document{URL: "https://p.example/"})
			sets += len(claims)
			for _, c := range claims {
				if c.Title == "A" && len(c.Files) != 2 || c.Title == "B" && tt.sets == 3 && c.Publisher != "P" {
					t.Errorf("%s: %+v", tt.name, c)
				}
			}
			return err
		})
		if err != nil || sets != tt.sets || s.LeftOut != tt.leftOut {
			t.Errorf("%s: %d datasets, %d left out, %v; want %d, %d", tt.name, sets, s.LeftOut, err, tt.sets, tt.leftOut)
		}
	}
}

// A graph beyond the limits is refused with a reason.
func TestGraphRefused(t *testing.T) {
	nodes := func(n int) []byte {
		var b bytes.Buffer
		b.WriteString(`{"@graph":[{"@type":"Dataset","name":"A"}`)
		for i := range n {
			fmt.Fprintf(&b, `,{"@id":"_:%x","x":1}`, i)
		}
		b.WriteString("]}")
		return b.Bytes()
	}
	context := func(n int) []byte {
		return []byte(`{"@context":["` + strings.Repeat("x", n-4) + `"],"@graph":[{"@type":"Dataset","name":"A"}]}`)
	}
	// Each dataset refers to so much that it needs a part of its own.
	needy := func(n int) []byte {
		var b bytes.Buffer
		b.WriteString(`{"@graph":[{"@id":"_:p","name":"P"}`)
		for i := range 4 {
			fmt.Fprintf(&b, `,{"@id":"_:x%d","x":%q}`, i, strings.Repeat("y", 170<<10))
		}
		for i := range n {
			fmt.Fprintf(&b, `,{"@type":"Dataset","name":"A%[1]d","creator":[{"@id":"_:x0"},{"@id":"_:x1"},{"@id":"_:x2"},{"@id":"_:x3"}],"publisher":{"@id":"_:y%[1]d"}},{"@id":"_:y%[1]d","x":%[2]q}`,
				i, strings.Repeat("z", 60<<10))
		}
		b.WriteString("]}")
		return b.Bytes()
	}
	for _, tt := range []struct {
		name string
		body []byte
		want string
	}{
		{"as many nodes as may be", nodes(maxNodes(1<<20) - 1), ""},
		{"one more", nodes(maxNodes(1 << 20)), "nodes"},
		{"the longest context", context(maxContext), ""},
		{"a longer one", context(maxContext + 1), "context"},
		{"some that need much", needy(3), ""},
		{"many", needy(60), "too often"},
	} {
		_, err := Cut(bytes.NewReader(tt.body), max(int64(len(tt.body)), 1<<20), func([]byte) error { return nil })
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrNoCatalogue) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The number of graphs at the same time is limited. Another graph has space when they are done.
func TestGraphSpace(t *testing.T) {
	datasets, others := graphNodes(10)
	body := graphOf(datasets, others)
	put := int64(len(body) - bytes.IndexByte(body, '[') - 1)
	put -= int64(len(datasets) + len(others) - 1) // without the spaces between its nodes
	for free, want := range map[int64]error{put: nil, put - 1: ErrNoSpace} {
		graphSpace.Add(maxGraphSpace - free)
		_, err := Cut(bytes.NewReader(body), MaxCatalogue, func([]byte) error { return nil })
		graphSpace.Add(free - maxGraphSpace)
		if !errors.Is(err, want) || graphSpace.Load() != 0 {
			t.Errorf("with %d bytes free: %v; %d are used", free, err, graphSpace.Load())
		}
	}
}

// Random graphs that are read in parts make the same claims as at once.
func TestRandomGraphs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var nodes []any
		for i := range 1 + rnd.IntN(12) {
			node := map[string]any{}
			if rnd.IntN(4) > 0 {
				node["@id"] = fmt.Sprintf("ex:%d", i)
			}
			if kind := []string{"Dataset", "Catalog", "Distribution", ""}[rnd.IntN(4)]; kind != "" {
				node["@type"] = kind
			}
			node["name"] = fmt.Sprintf("N%d", i)
			for _, p := range []string{"distribution", "publisher", "creator", "license", "dataset", "hasPart", "checksum", "isPartOf"} {
				ref := fmt.Sprintf("ex:%d", rnd.IntN(12))
				if rnd.IntN(3) == 0 {
					ref = fmt.Sprintf("in:%d-%s", rnd.IntN(12), p)
				}
				switch rnd.IntN(8) {
				case 0:
					node[p] = ref
				case 1:
					node[p] = []any{map[string]any{"@id": ref}}
				case 2:
					node[p] = map[string]any{"@id": fmt.Sprintf("in:%d-%s", i, p), "name": p, "contentUrl": "/" + p, "publisher": ref}
				}
			}
			nodes = append(nodes, node)
		}
		body, err := json.Marshal(map[string]any{"@graph": nodes})
		if err != nil {
			t.Fatal(err)
		}
		d := Document{URL: "https://p.example/", Fetched: time.Unix(1, 0)}
		whole, err := ReadJSON(body, d)
		if err != nil && !errors.Is(err, ErrNoDatasets) {
			t.Fatal(err)
		}
		var parts []crawl.DatasetClaim
		s, err := Cut(bytes.NewReader(body), MaxCatalogue, func(part []byte) error {
			more, err := ReadJSON(part, d)
			if parts = append(parts, more...); errors.Is(err, ErrNoDatasets) {
				err = nil
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrNoCatalogue) {
			t.Fatal(err)
		}
		key := func(all []crawl.DatasetClaim) []string {
			set := map[string]bool{}
			for _, c := range all {
				c.N = 0
				raw, _ := json.Marshal(&c)
				set[string(raw)] = true
			}
			return slices.Sorted(maps.Keys(set))
		}
		if got, want := key(parts), key(whole); s.LeftOut == 0 && !slices.Equal(got, want) {
			t.Fatalf("in parts\n%s\nat once\n%s\nof %s", strings.Join(got, "\n"), strings.Join(want, "\n"), body)
		}
	}
}
