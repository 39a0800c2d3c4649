package catalog

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A catalogue of DCAT-AP 3 and a dataset of Croissant 1.1 contain everything that the examples of
// their specifications have: terms of a context that is not loaded, names by string, language maps,
// series, two kinds of identifier, files in archives, arrays.
func TestExamplesAreReadWhole(t *testing.T) {
	read := func(name string) (all []string) {
		b, err := os.ReadFile("testdata/examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := ReadJSON(b, Document{URL: "https://ml.example/x/" + name, Fetched: at})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			all = append(all, fmt.Sprintf("%s %s|%s|%s|%s|%s|%s|%s|%s|%s", c.Kind, c.ID, c.Page, c.Title, c.Description, SPDX(c.License), c.Publisher, c.Version, c.Issued, c.Modified),
				strings.Join(c.Keywords, ",")+"|"+strings.Join(c.Creators, ","))
			for _, f := range c.Files {
				all = append(all, fmt.Sprintf("%s|%t|%s|%s|%s|%.4s|%.4s", f.URL, f.Directory, f.Name, f.MediaType, number(f.Bytes), f.SHA256, f.MD5))
			}
			for _, col := range c.Columns {
				all = append(all, fmt.Sprintf("%s|%s|%s", col.Name, col.Type, col.Description))
			}
		}
		return all
	}
	for name, want := range map[string][]string{
		"dcat-ap-3.jsonld": {
			crawl.DatasetJSONLD + " https://town.example/id/trees||Trees|Where trees stand.|CC-BY-4.0|The town office|2.1|2024-05-01|2026-02-03T04:05:06Z",
			"tree,town|",
			"https://town.example/trees.csv|false|Trees, a table|text/csv|2048|48a7|",
			"https://town.example/api|true|||||",
			crawl.DatasetJSONLD + " https://doi.org/10.5072/benches.2026||Benches 2026|||The town office|||",
			"|",
			"https://town.example/benches.geojson|false||GeoJSON|||",
		},
		"croissant-1.1.json": {
			crawl.DatasetCroissant + " |https://ml.example/gauges|gauges|What gauges showed, as numbers and pictures.|CC-BY-4.0||1.0.3|2026-01-02|",
			"|A. Reader",
			"https://ml.example/x/data/gauges.csv|false|gauges.csv|text/csv|4096|48a7|",
			"https://ml.example/pictures.zip|false|pictures.zip|application/zip|||0123",
			"at|Date|When.",
			"levels|Float|",
		},
	} {
		if got := read(name); !slices.Equal(got, want) {
			t.Errorf("%s is read as\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
