package catalog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxCataloguePages is how many pages of one catalogue are asked for, the first included.
const MaxCataloguePages = 1000

// ckanRows is how many datasets a CKAN is asked for at a time: what it gives at most unless its
// operator has said otherwise. Fewer requests are less work for it than small pages.
const ckanRows = 1000

// Paging is what a document says of the pages of its catalogue: CKAN's count, Hydra's links.
type Paging struct {
	count      int64 // of CKAN's package_search
	results    bool
	next, last string // Hydra
}

// note takes in a value that stands beside the list, by its local name.
func (p *Paging) note(name string, raw []byte) {
	switch name {
	case "count":
		p.count, _ = strconv.ParseInt(string(raw), 10, 64)
	case "next", "nextPage":
		p.next = reference(raw)
	case "last", "lastPage":
		p.last = reference(raw)
	case "view":
		p.view(raw)
	}
}

// member takes in a member of a list: a @graph has the view of its collection among its nodes.
func (p *Paging) member(raw []byte) {
	leads := bytes.Contains(raw, []byte("next")) // nextPage as well
	if len(raw) <= maxNote && p.next == "" && leads &&
		(bytes.Contains(raw, []byte("PagedCollection")) || bytes.Contains(raw, []byte("PartialCollectionView"))) {
		p.view(raw)
	}
}

// view takes in a node that has links to other pages.
func (p *Paging) view(raw []byte) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	for name, v := range m {
		if name = local(name); name != "view" {
			p.note(name, v)
		}
	}
}

// reference is an address that is written as a text, as a node, or as a list of one of them.
func reference(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	if all, ok := v.([]any); ok && len(all) > 0 {
		v = all[0]
	}
	if m, ok := v.(map[string]any); ok {
		v = m["@id"]
	}
	s, _ := v.(string)
	return s
}

// More returns the pages that are to be asked for after the one at u, members of which it has:
// those that it names, on its own origin, as far as MaxCataloguePages.
func (p *Paging) More(u string, members int) []string {
	at, err := url.Parse(u)
	if err != nil {
		return nil
	}
	if IsCKANSearch(at.Path) {
		return p.ckan(at, int64(members))
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

// IsCKANSearch reports whether a path is that of the search by which a CKAN lists its datasets.
func IsCKANSearch(path string) bool {
	return strings.HasSuffix(path, "/api/3/action/package_search") || strings.HasSuffix(path, "/api/action/package_search")
}

// ckan are the pages behind the first one of a search. Any other leads only to what it was asked
// for and did not give: all else the first one has named.
func (p *Paging) ckan(at *url.URL, members int64) (all []string) {
	q, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return nil
	}
	start, _ := strconv.ParseInt(q.Get("start"), 10, 64)
	asked, _ := strconv.ParseInt(q.Get("rows"), 10, 64)
	rows, end := int64(ckanRows), p.count
	if asked > members {
		rows = members // that is all it gives at a time
	}
	if start > 0 {
		end = min(end, start+asked)
	}
	if members == 0 || start < 0 || start > p.count {
		return nil
	}
	for from := start + members; from < end && from/rows < MaxCataloguePages; from += rows {
		q.Set("start", strconv.FormatInt(from, 10))
		q.Set("rows", strconv.FormatInt(rows, 10))
		page := *at
		page.RawQuery = q.Encode()
		all = append(all, page.String())
	}
	return all
}

// series are the pages from next to last, if nothing but one number in the query tells them apart
// and it grows by one from page to page; nil otherwise.
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
		if n != from { // what it names itself stays as it is written
			a.Set(name, strconv.Itoa(n))
			page.RawQuery = a.Encode()
		}
		all = append(all, page.String())
	}
	return all
}
