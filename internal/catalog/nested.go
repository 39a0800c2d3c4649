package catalog

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// maxOriginClaims limits the claims of all data.txt files of an origin together. Its own file may
// make half of them.
const maxOriginClaims = 2 * MaxClaims

// Claims returns the datasets of the copy and of the files nested in it, as they apply to the robot
// with that product token. nested has the nested files that are in use, by Asked. A nested file
// counts as long as the files above lead to it, and the rules of all of those apply to its
// datasets.
func (e *Entry) Claims(token string, nested map[string]Entry) ([]crawl.DatasetClaim, error) {
	return e.ClaimsWith(token, func(asked string) (Entry, bool) {
		below, ok := nested[asked]
		return below, ok
	})
}

// ClaimsWith is Claims with a function that looks up nested files.
func (e *Entry) ClaimsWith(token string, nested func(asked string) (Entry, bool)) ([]crawl.DatasetClaim, error) {
	f, err := e.parse(token)
	if err != nil {
		return nil, err
	}
	t := tree{token: token, nested: nested, seen: map[string]bool{}}
	t.read(f, e, 0, nil)
	return t.claims, nil
}

// tree reads a data.txt and the files nested in it.
type tree struct {
	token  string
	nested func(asked string) (Entry, bool)
	seen   map[string]bool
	claims []crawl.DatasetClaim
}

// read adds the claims of a file that is nested depth deep. above are the datasets that lead to it.
// It returns where the file's own claims begin.
func (t *tree) read(f *datatxt.File, e *Entry, depth int, above []*datatxt.File) (from int) {
	f.Stamp(e.Fetched, e.Fresh)
	from = len(t.claims)
	for i := range f.Datasets {
		if len(t.claims) == maxOriginClaims {
			break
		}
		c := claim(&f.Datasets[i], f)
		// The dataset belongs to the origin, even if a redirect leads to the file.
		c.Origin, c.N, c.Depth, c.Usage, c.Changed = e.Origin, i, depth, e.Usage, e.Changed
		if e.NoSnippet {
			c.RemoveProse()
		}
		for _, a := range above {
			c.Allowed = c.Allowed && allows(a, &c)
		}
		t.claims = append(t.claims, c)
	}
	to := len(t.claims)
	above = append(above[:len(above):len(above)], f)
	for _, c := range f.Nested(depth) {
		u, err := canon.Parse(c.URL)
		if err != nil || t.seen[string(u)] {
			continue
		}
		t.seen[string(u)] = true
		below, ok := t.nested(string(u))
		if !ok || below.Origin != e.Origin {
			continue
		}
		g, err := below.parse(t.token)
		if err != nil {
			continue // cannot happen: it could be read when it was stored
		}
		at, find := t.read(g, &below, depth+1, above), g.Finder()
		for _, i := range c.Datasets {
			if from+i >= to {
				continue
			}
			parent := &t.claims[from+i]
			for k := range parent.Files {
				file := &parent.Files[k]
				file.Directory = file.Directory || strings.TrimSuffix(file.URL, "/")+"/data.txt" == c.URL
			}
			if j, ok := find(f.Datasets[i]); ok && at+j < len(t.claims) && t.claims[at+j].Fills == nil {
				t.claims[at+j].Fills = &crawl.DatasetRef{Document: parent.Document, N: parent.N}
			}
		}
	}
	return from
}

// allows reports whether a file's own rules allow all files of a dataset that are on its origin.
func allows(f *datatxt.File, c *crawl.DatasetClaim) bool {
	base := canon.URL(f.URL).Origin()
	for i := range c.Files {
		u, err := canon.Parse(c.Files[i].URL)
		if err != nil || u.Origin() != base {
			continue
		}
		if ok, _ := f.Allowed(u.Path()); !ok {
			return false
		}
	}
	return true
}

// claim returns the claim of a data.txt about a dataset. Implied values are marked, and values of
// other documents replace them.
func claim(d *datatxt.Dataset, f *datatxt.File) crawl.DatasetClaim {
	c := crawl.DatasetClaim{
		Kind: crawl.DatasetDataTxt, Document: f.URL, Form: string(f.Form), Line: d.Line,
		Title: d.Title, Description: d.Description, License: d.License, Source: d.Source,
		Rows: d.Rows, Cols: d.Cols, External: d.External, Allowed: d.Allowed, FetchedAt: d.Fetched.UTC(), Expires: d.Expires.UTC(),
		Extra: map[string]any{},
	}
	if !d.NameImplied {
		c.Name = d.Name
	}
	if d.TypeImplied {
		c.TypeImplied = d.Type
	} else {
		c.Type = d.Type
	}
	for _, u := range d.URLs {
		c.Files = append(c.Files, crawl.DatasetFile{URL: u, Directory: d.Type == datatxt.TypeLocation})
	}
	for _, col := range d.Columns {
		c.Columns = append(c.Columns, crawl.DatasetColumn{Name: col.Name, Type: col.Type, Description: col.Description})
	}
	// A count that is not a number stays as it is written (formats §5.4).
	if d.Rows == nil && d.RowsText != "" {
		c.Extra["rows"] = d.RowsText
	}
	if d.Cols == nil && d.ColsText != "" {
		c.Extra["cols"] = d.ColsText
	}
	for _, field := range d.Extra {
		if _, twice := c.Extra[field.Name]; !twice && !understood(&c, f.URL, field) {
			c.Extra[field.Name] = plain(field.Value)
		}
	}
	return c
}
