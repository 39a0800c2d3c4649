package catalog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxCataloguePages is how many pages of one catalogue are requested, including the first.
const MaxCataloguePages = 1000

// ckanRows is how many datasets are requested from a CKAN at a time. This is its maximum unless its
// operator has set another. A few large requests are less work for it than many small ones.
const ckanRows = 1000

// Paging is the information of a document about the pages of its catalogue: how many datasets there
// are, or links.
type Paging struct {
	count      int64  // of a search whose pages are numbered: see numberings
	next, last string // Hydra, JSON:API, OGC API
}

// numbering is how the pages of a search are numbered.
type numbering struct {
	paths       []string // endings of its path
	start, rows string   // parameters: the first dataset, from 0, and how many
	most        int64    // datasets that are requested at a time
}

// numberings are those of CKAN, of Dataverse and of Socrata.
var numberings = []numbering{
	{[]string{"/api/3/action/package_search", "/api/action/package_search"}, "start", "rows", ckanRows},
	{[]string{"/api/search", "/api/v1/search"}, "start", "per_page", 1000},
	{[]string{"/api/catalog/v1"}, "offset", "limit", 1000},
}

// counts are the names under which searches write how many datasets they found.
var counts = map[string]bool{"count": true, "total_count": true, "resultSetSize": true}

// note reads a value beside the list, by its local name.
func (p *Paging) note(name string, raw []byte) {
	if counts[name] {
		p.count, _ = strconv.ParseInt(string(raw), 10, 64)
	}
	switch name {
	case "next", "nextPage":
		p.next = reference(raw)
	case "last", "lastPage":
		p.last = reference(raw)
	case "view", "links", "meta":
		p.view(raw)
	}
}

// member reads a member of a list: in a @graph, one of the nodes is the view of the collection.
func (p *Paging) member(raw []byte) {
	leads := bytes.Contains(raw, []byte("next")) // also nextPage
	if len(raw) <= maxNote && p.next == "" && leads &&
		(bytes.Contains(raw, []byte("PagedCollection")) || bytes.Contains(raw, []byte("PartialCollectionView"))) {
		p.view(raw)
	}
}

// view reads a node with links to other pages.
func (p *Paging) view(raw []byte) {
	var links []struct{ Rel, Href string }
	if json.Unmarshal(raw, &links) == nil {
		for _, l := range links {
			if l.Rel == "next" {
				p.next = l.Href
			}
		}
		return
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	for _, name := range []string{"next", "nextPage", "last", "lastPage"} {
		for key, v := range m {
			if local(key) == name {
				p.note(name, v)
			}
		}
	}
}

// reference returns an address that is written as a text, as a node, or as a list with one of
// these.
func reference(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	if all, ok := v.([]any); ok && len(all) > 0 {
		v = all[0]
	}
	if m, ok := v.(map[string]any); ok {
		if v = m["@id"]; v == nil {
			v = m["@value"]
		}
	}
	s, _ := v.(string)
	return s
}

// More returns the pages to request after the page at u, which has this many members: those that
// the page names, on its own origin, up to MaxCataloguePages.
func (p *Paging) More(u string, members int) []string {
	at, err := url.Parse(u)
	if err != nil {
		return nil
	}
	for _, n := range numberings {
		if n.at(at.Path) {
			return p.numbered(at, int64(members), n)
		}
	}
	next, err := at.Parse(p.next)
	if p.next == "" || err != nil || next.Scheme != at.Scheme || next.Host != at.Host {
		return nil
	}
	if last, err := at.Parse(p.last); err == nil && p.last != "" {
		if all := series(next, last); all != nil {
			return all
		}
	}
	return []string{next.String()}
}

// at reports whether a path is that of the search.
func (n *numbering) at(path string) bool {
	return slices.ContainsFunc(n.paths, func(end string) bool { return strings.HasSuffix(path, end) })
}

// numbered returns the pages of a search that follow the page at. The first page names all others.
// Another page names only pages with members that it should have contained itself, and did not.
func (p *Paging) numbered(at *url.URL, members int64, n numbering) (all []string) {
	q, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return nil
	}
	start, _ := strconv.ParseInt(q.Get(n.start), 10, 64)
	asked, _ := strconv.ParseInt(q.Get(n.rows), 10, 64)
	rows, end := n.most, p.count
	if asked > members {
		rows = members // this is its maximum
	}
	if start > 0 {
		end = min(end, start+asked)
	}
	if members == 0 || start < 0 || start > p.count {
		return nil
	}
	for from := start + members; from < end && from/rows < MaxCataloguePages; from += rows {
		q.Set(n.start, strconv.FormatInt(from, 10))
		q.Set(n.rows, strconv.FormatInt(rows, 10))
		page := *at
		page.RawQuery = q.Encode()
		all = append(all, page.String())
	}
	return all
}

// series returns the pages from next to last, if they differ only by one number in the query, which
// increases by one from page to page. Otherwise it returns nil.
func series(next, last *url.URL) (all []string) {
	a, b := next.Query(), last.Query()
	plain := *last
	if plain.RawQuery = next.RawQuery; plain.String() != next.String() || len(a) != len(b) {
		return nil
	}
	var name string
	for k := range a {
		if slices.Equal(a[k], b[k]) {
			continue
		}
		if name != "" || len(a[k]) != 1 || len(b[k]) != 1 || !strings.Contains(strings.ToLower(k), "page") {
			return nil
		}
		name = k
	}
	from, err := strconv.Atoi(a.Get(name))
	to, err2 := strconv.Atoi(b.Get(name))
	if name == "" || err != nil || err2 != nil || from < 0 || to <= from {
		return nil
	}
	for n := from; n <= to && len(all) < MaxCataloguePages-1; n++ {
		page := *next
		if n != from { // the address that the document itself contains stays unchanged
			a.Set(name, strconv.Itoa(n))
			page.RawQuery = a.Encode()
		}
		all = append(all, page.String())
	}
	return all
}
