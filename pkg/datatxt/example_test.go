package datatxt_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/pkg/datatxt"
)

func ExampleParse() {
	body := `
- path: iris/data.csv
  title: Measurements of iris flowers
  rows: 150
- path: https://cdn.example/cars.parquet
  columns: {speed: integer, dist: integer}
- title: an entry without a path
`
	base, _ := url.Parse("https://d.example/data.txt")
	f, err := datatxt.Parse([]byte(body), base, "ExampleBot")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range f.Datasets {
		fmt.Println(d.Name, d.URLs[0], d.Title, d.Columns, d.External)
	}
	for _, d := range f.Diagnostics {
		fmt.Printf("line %d: %s\n", d.Line, d.Reason)
	}
	// Output:
	// data.csv https://d.example/iris/data.csv Measurements of iris flowers [] false
	// cars.parquet https://cdn.example/cars.parquet  [{speed integer } {dist integer }] true
	// line 7: an entry has no path
}

func ExampleParse_refused() {
	base, _ := url.Parse("https://d.example/data.txt")
	_, err := datatxt.Parse([]byte("- &a\n  path: x\n- *a\n"), base, "ExampleBot")
	fmt.Println(err)
	fmt.Println(errors.Is(err, datatxt.ErrNotDataTxt))
	// Output:
	// data.txt: line 1: YAML anchors, aliases and merge keys are not supported
	// false
}

// The records form also has access rules, for dataset fetches.
func ExampleFile_Allowed() {
	body := "User-agent: *\nAllow: /data/open.csv\nTitle: Open data\nDisallow: /data/\n"
	base, _ := url.Parse("https://d.example/data.txt")
	f, _ := datatxt.Parse([]byte(body), base, "ExampleBot")
	fmt.Println(f.Allowed("/data/open.csv"))
	fmt.Println(f.Allowed("/data/secret.csv"))
	fmt.Println(f.Allowed("/elsewhere"))
	// Output:
	// true 2
	// false 4
	// true 0
}

func ExampleLifetime() {
	h := http.Header{"Cache-Control": {"max-age=60"}}
	fmt.Println(datatxt.Lifetime(h, time.Now()))
	// Output: 1h0m0s
}
