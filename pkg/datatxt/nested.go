package datatxt

import (
	"net/url"
	"slices"
	"strings"
)

// MaxNesting is how far below the site's own data.txt files are asked for.
const MaxNesting = 3

// Candidate is a nested data.txt that may exist.
type Candidate struct {
	URL      string
	Datasets []int // which of the file's datasets it may describe, in order
}

// Nested returns the nested files that the datasets of f suggest (§5.4): for a
// directory the data.txt in it, for a file the one beside it; only on the
// file's own origin, only where its own rules allow, never the file itself or
// the site's root file, each once. depth is how many steps f lies below the
// root file: 0 for /data.txt, 1 for a file found through it. From MaxNesting on
// there are none.
//
// A candidate is a guess: robots.txt must allow it, a 404 is normal, and
// asking for it is the caller's choice and budget.
func (f *File) Nested(depth int) []Candidate {
	if f.base == nil || depth >= MaxNesting {
		return nil
	}
	var list []Candidate
	at := map[string]int{}
	for i := range f.Datasets {
		for _, text := range f.Datasets[i].URLs {
			c, ok := f.beside(text)
			if !ok {
				continue
			}
			k, known := at[c]
			if !known {
				k = len(list)
				at[c] = k
				list = append(list, Candidate{URL: c})
			}
			if d := &list[k].Datasets; !slices.Contains((*d)[max(0, len(*d)-1):], i) {
				*d = append(*d, i)
			}
		}
	}
	return list
}

// beside returns the URL of the data.txt that would describe a location.
func (f *File) beside(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || origin(u) != origin(f.base) {
		return "", false
	}
	dir := u.EscapedPath()
	if hasExtension(u.Path) {
		dir = dir[:strings.LastIndexByte(dir, '/')+1]
	}
	path := strings.TrimSuffix(dir, "/") + "/data.txt"
	if path == "/data.txt" || path == f.base.EscapedPath() {
		return "", false
	}
	if ok, _ := f.Allowed(path); !ok {
		return "", false
	}
	// Relative to our own URL, so that both write the host alike.
	c, err := f.base.Parse(path)
	if err != nil {
		return "", false
	}
	return c.String(), true
}

// Fill returns parent with the fields it lacks taken from the nested file's
// record of the same dataset, as Finder finds it; what parent has, it keeps
// (§5.4). filled is false if there is none.
//
// Other records of the nested file are datasets in their own right.
func Fill(parent Dataset, nested *File) (merged Dataset, filled bool) {
	i, ok := nested.Finder()(parent)
	if !ok {
		return parent, false
	}
	m, from := parent, &nested.Datasets[i]
	if m.NameImplied && !from.NameImplied {
		m.Name, m.NameImplied = from.Name, false
	}
	if m.TypeImplied && !from.TypeImplied {
		m.Type, m.TypeImplied = from.Type, false
	}
	fillText(&m.Title, from.Title)
	fillText(&m.Description, from.Description)
	fillText(&m.License, from.License)
	fillText(&m.Source, from.Source)
	if m.RowsText == "" {
		m.Rows, m.RowsText = from.Rows, from.RowsText
	}
	if m.ColsText == "" {
		m.Cols, m.ColsText = from.Cols, from.ColsText
	}
	if len(m.Columns) == 0 {
		m.Columns = slices.Clone(from.Columns)
	}
	m.Extra = slices.Clone(m.Extra)
	for _, field := range from.Extra {
		if indexField(parent.Extra, lower(field.Name)) < 0 {
			m.Extra = append(m.Extra, field)
		}
	}
	return m, true
}

func fillText(to *string, from string) {
	if *to == "" {
		*to = from
	}
}

// Finder returns a function that says which of the file's datasets is parent,
// a dataset of the file that leads to this one: that with a URL of parent's;
// failing that, the only one of a data.txt that lies in the directory parent
// names.
func (f *File) Finder() func(parent Dataset) (i int, ok bool) {
	at := map[string]int{}
	for i := range f.Datasets {
		for _, u := range f.Datasets[i].URLs {
			if _, ok := at[u]; !ok {
				at[u] = i
			}
		}
	}
	dir, inDir := strings.CutSuffix(f.URL, "/data.txt")
	return func(parent Dataset) (i int, ok bool) {
		i = len(f.Datasets)
		for _, u := range parent.URLs {
			if j, ok := at[u]; ok {
				i = min(i, j)
			}
		}
		if i < len(f.Datasets) {
			return i, true
		}
		ok = inDir && len(f.Datasets) == 1 && (slices.Contains(parent.URLs, dir) || slices.Contains(parent.URLs, dir+"/"))
		return 0, ok
	}
}
