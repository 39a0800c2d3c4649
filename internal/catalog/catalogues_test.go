package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/catalog/shapes"
	"github.com/curtsy/curtsy/internal/crawl"
)

// catalogueCase is a case of testdata/catalogues/cases.json, which the README there describes.
type catalogueCase struct {
	ID, Why, Host string
	Answers       map[string]struct{ File string }
	Expect        struct{ Datasets []expectedDataset }
}

type expectedDataset struct {
	Title, SPDX, Identifier string
	Creators                []string
	Files                   []expectedFile
}

type expectedFile struct {
	URL         string
	Size        int64
	SHA256, MD5 string
}

func (f *expectedFile) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &f.URL)
	}
	type plain expectedFile
	return json.Unmarshal(b, (*plain)(f))
}

// tally counts what a catalogue has, and what was found of it.
type tally struct{ datasets, files, sizes, digests, licenses, creators [2]int }

func (n *tally) String() string {
	var b strings.Builder
	for _, c := range [][2]int{n.datasets, n.files, n.sizes, n.digests, n.licenses, n.creators} {
		fmt.Fprintf(&b, " %d/%d |", c[1], c[0])
	}
	return b.String()
}

// Of ten kinds of catalogues, and some more, everything is found that their documentation promises,
// and nothing else. The table of docs/formats.md has the counts.
func TestCatalogues(t *testing.T) {
	raw, err := os.ReadFile("testdata/catalogues/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []catalogueCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		base := "http://" + c.Host
		var claims []crawl.DatasetClaim
		for path, a := range c.Answers {
			body, err := os.ReadFile("testdata/catalogues/" + a.File)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.ReplaceAll(body, []byte("http://HOST"), []byte(base))
			if name, _, _ := strings.Cut(path, "?"); !shapes.Shows(body[:min(len(body), shapes.Look)], name) {
				t.Errorf("%s %s: its beginning does not show what it is", c.ID, path)
			}
			read, err := ReadJSON(body, Document{URL: base + path, Fetched: at})
			if err != nil {
				t.Errorf("%s %s: %v", c.ID, path, err)
			}
			claims = append(claims, read...)
		}
		sets := Merge(claims)
		var n tally
		n.datasets = [2]int{len(c.Expect.Datasets), len(sets)}
		for _, want := range c.Expect.Datasets {
			i := slices.IndexFunc(sets, func(d crawl.DatasetInfo) bool { return cmp.Or(d.Title, d.Name) == want.Title })
			if i < 0 {
				t.Errorf("%s: no dataset called %s", c.ID, want.Title)
				continue
			}
			n.compare(t, base, want, &sets[i])
		}
		if n.datasets[0] != n.datasets[1] {
			t.Errorf("%s: %d datasets, want %d", c.ID, n.datasets[1], n.datasets[0])
		}
		if row := fmt.Sprintf("| %s |%s\n", c.Why, &n); !bytes.Contains(doc, []byte(row)) {
			t.Errorf("docs/formats.md lacks this row:\n%s", row)
		}
	}
}

// compare counts what is expected of a dataset, and what was found.
func (n *tally) compare(t *testing.T, base string, want expectedDataset, c *crawl.DatasetInfo) {
	n.files[0], n.files[1] = n.files[0]+len(want.Files), n.files[1]+len(c.Files)
	n.creators[0], n.creators[1] = n.creators[0]+len(want.Creators), n.creators[1]+len(c.Creators)
	if len(want.Files) != len(c.Files) || want.Creators != nil && !slices.Equal(want.Creators, c.Creators) {
		t.Errorf("%s: files %v, creators %q; want %v, %q", want.Title, c.Files, c.Creators, want.Files, want.Creators)
	}
	for pattern, got := range map[string]string{want.SPDX: SPDX(c.License), want.Identifier: c.Identifier} {
		if pattern != "" && !regexp.MustCompile("^(?:"+pattern+")$").MatchString(got) {
			t.Errorf("%s: %q, want %s", want.Title, got, pattern)
		}
	}
	if want.SPDX != "" {
		n.licenses[0]++
		if SPDX(c.License) != "" {
			n.licenses[1]++
		}
	}
	for _, f := range want.Files {
		i := slices.IndexFunc(c.Files, func(got crawl.DatasetFile) bool { return got.URL == base+f.URL })
		if i < 0 {
			t.Errorf("%s: no file %s in %v", want.Title, f.URL, c.Files)
			continue
		}
		got := c.Files[i]
		if got.Bytes != nil {
			n.sizes[1]++
		}
		if f.Size > 0 {
			n.sizes[0]++
		}
		if f.Size > 0 != (got.Bytes != nil) || got.Bytes != nil && *got.Bytes != f.Size {
			t.Errorf("%s: size %s, want %d", f.URL, number(got.Bytes), f.Size)
		}
		if f.SHA256+f.MD5 != "" {
			n.digests[0]++
		}
		if got.SHA256+got.MD5+got.SHA1+got.SHA512 != "" {
			n.digests[1]++
		}
		if f.SHA256 != got.SHA256 || f.MD5 != got.MD5 || got.SHA1+got.SHA512 != "" {
			t.Errorf("%s: digests %+v, want %+v", f.URL, got, f)
		}
	}
}
