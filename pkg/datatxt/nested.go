package datatxt

import (
	"net/url"
	"slices"
	"strings"
)

// MaxNesting is how many levels below the site's own data.txt files are requested.
const MaxNesting = 3

// Candidate is a nested data.txt that may exist.
type Candidate struct {
	URL      string
	Datasets []int // the file's datasets that it may describe, in order
}

// Nested returns the nested files that the datasets of f suggest (formats §5.4): for a directory
// the data.txt in it, for a file the data.txt in the same directory. They are on the file's own
// origin, its own rules allow them, each occurs once, and neither the file itself nor the site's
// root file is included. depth is the level of f below the root file: 0 for /data.txt, 1 for a file
// found through it. From MaxNesting on there are none.
//
// A candidate is a guess: robots.txt must allow it, a 404 is normal, and the caller decides whether
// to request it.
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
	// Resolved against our own URL, so that both have the same spelling of the host.
	c, err := f.base.Parse(path)
	if err != nil {
		return "", false
	}
	return c.String(), true
}

// Finder returns a function that finds the file's dataset for parent, a dataset of the file that
// leads to this one: the dataset with a URL of parent or, if there is none, the only dataset of a
// data.txt in the directory that parent names.
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
