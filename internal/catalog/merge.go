package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Merge joins claims about the same dataset, as Each does, and returns the datasets.
func Merge(claims []crawl.DatasetClaim) (all []crawl.DatasetInfo) {
	_ = Each(claims, func(d crawl.DatasetInfo) error {
		all = append(all, d)
		return nil
	})
	return all
}

// Each joins claims about the same dataset and calls fn for each dataset, ordered by origin and
// name. An error of fn ends it and is returned.
//
// Two claims are about the same dataset if they give the same identifier; or if they name the same
// file, or one of them names no file and both name the same page for people, unless they have
// different identifiers or, if one has none, different titles (differ); or if one is a nested
// data.txt that adds to the other. Claims of one document are about different datasets, unless they
// give the same identifier. Several origins may have redirected to one data.txt: the copy that was
// requested from its own host counts, or else the newest. The result depends only on the set of
// claims.
//
// A dataset is made of the claims of one site. Statements of others about a site's files, pages and
// identifiers are shown beside it (AlsoDescribedAt), and as a conflict if they differ; see
// strangers. The datasets are made one at a time, so memory has little more than the claims.
func Each(claims []crawl.DatasetClaim, fn func(crawl.DatasetInfo) error) error {
	all := make([]*crawl.DatasetClaim, len(claims))
	for i := range claims {
		all[i] = &claims[i]
	}
	return each(all, nil, fn)
}

// each is Each for claims that may be outlines; their complete claims are in shelf.
func each(claims []*crawl.DatasetClaim, shelf *shelf, fn func(crawl.DatasetInfo) error) error {
	m := newMerger(whole(inOrder(newest(claims)), shelf))
	m.shelf = shelf
	m.join(func(c *crawl.DatasetClaim) []string {
		if c.ID == "" {
			return nil
		}
		return []string{m.said(c, c.ID, hostOf(c.ID))}
	}, true)
	m.joinIf(func(c *crawl.DatasetClaim) []string {
		if c.Kind != crawl.DatasetDataTxt {
			return nil
		}
		keys := []string{refKey(c.Origin, crawl.DatasetRef{Document: c.Document, N: c.N})}
		if c.Fills != nil {
			keys = append(keys, refKey(c.Origin, *c.Fills))
		}
		return keys
	}, func(a, b int) bool { return !m.differByID(a, b) && !m.shareDocument(a, b) })
	m.joinIf(func(c *crawl.DatasetClaim) []string {
		urls := make([]string, 0, len(c.Files))
		for _, f := range c.Files {
			if !leadsTo(c, &f) {
				urls = append(urls, m.said(c, f.URL, hostOf(f.URL)))
			}
		}
		return urls
	}, m.mayBeOne)
	m.joinByPage()
	sets := m.strangers()
	titles := make([]heading, len(sets))
	for i := range sets {
		d, address := m.assemble(&sets[i], true)
		titles[i] = heading{set: &sets[i], id: d.ID, address: address, origin: d.Origin, dataTxt: d.DataTxt, line: d.Line, name: d.Name}
	}
	slices.SortStableFunc(titles, func(a, b heading) int {
		return cmp.Or(cmp.Compare(a.origin, b.origin), cmp.Compare(a.dataTxt, b.dataTxt), cmp.Compare(a.line, b.line), cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	distinguish(titles)
	for i := range titles {
		d, _ := m.assemble(titles[i].set, false)
		if m.failed != nil {
			return m.failed
		}
		d.ID = titles[i].id
		if err := fn(d); err != nil {
			return err
		}
	}
	return nil
}

// leadsTo reports whether a file of a document is only a way to the data, such as a page that many
// datasets share. A directory in a data.txt counts as the place of the data, unless there are other
// files and none of them is inside the directory: an exported data.txt writes a page that leads to
// data in this form.
func leadsTo(c *crawl.DatasetClaim, f *crawl.DatasetFile) bool {
	if !f.Directory || c.Kind != crawl.DatasetDataTxt {
		return f.Directory
	}
	beside := false
	for i := range c.Files {
		if other := &c.Files[i]; !other.Directory {
			if strings.HasPrefix(other.URL, strings.TrimSuffix(f.URL, "/")+"/") {
				return false
			}
			beside = true
		}
	}
	return beside
}

// heading is what datasets are sorted and distinguished by.
type heading struct {
	set                   *set
	id, address           string
	origin, dataTxt, name string
	line                  int
}

// newest drops claims from older copies of a data.txt. If one copy is from its own host, that one
// is kept, else the newest.
func newest(claims []*crawl.DatasetClaim) []*crawl.DatasetClaim {
	best := map[string]*crawl.DatasetClaim{}
	for _, c := range claims {
		if c.Kind != crawl.DatasetDataTxt || c.Part > 0 {
			continue
		}
		b, ok := best[c.Document]
		if !ok || c.Origin != b.Origin && betterCopy(c, b) || c.Origin == b.Origin && c.FetchedAt.After(b.FetchedAt) {
			best[c.Document] = c
		}
	}
	kept := make([]*crawl.DatasetClaim, 0, len(claims))
	for _, c := range claims {
		if b, ok := best[c.Document]; !ok || c.Kind != crawl.DatasetDataTxt || c.Origin == b.Origin {
			kept = append(kept, c)
		}
	}
	return kept
}

// betterCopy reports whether a counts instead of b, of two copies of one data.txt that two origins
// lead to.
func betterCopy(a, b *crawl.DatasetClaim) bool {
	host := hostOf(a.Document)
	if own := hostOf(a.Origin) == host; own != (hostOf(b.Origin) == host) {
		return own
	}
	return a.FetchedAt.After(b.FetchedAt) || a.FetchedAt.Equal(b.FetchedAt) && a.Origin < b.Origin
}

func refKey(origin string, r crawl.DatasetRef) string {
	return origin + " " + strconv.Itoa(r.N) + " " + r.Document
}

// inOrder sorts claims: the most trusted first, claims of one document together, and parts of one
// claim together.
func inOrder(claims []*crawl.DatasetClaim) []*crawl.DatasetClaim {
	slices.SortStableFunc(claims, func(a, b *crawl.DatasetClaim) int {
		return cmp.Or(cmp.Compare(trust(a), trust(b)), cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Document, b.Document),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.N, b.N), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Part, b.Part))
	})
	return claims
}

// whole joins the parts of long claims, and drops repeated claims.
func whole(claims []*crawl.DatasetClaim, shelf *shelf) []*crawl.DatasetClaim {
	out := claims[:0]
	part, copied := 0, false
	for _, c := range claims {
		if len(out) == 0 || !sameClaim(out[len(out)-1], c) {
			out = append(out, c)
			part, copied = c.Part, false
			continue
		}
		if c.Part == part {
			continue
		}
		part = c.Part
		d := out[len(out)-1]
		if !copied { // the caller's claims must not change
			d, copied = clone(d), true
			shelf.moved(out[len(out)-1], d)
			out[len(out)-1] = d
		}
		extend(d, c)
		shelf.moved(c, d)
	}
	return out
}

// clone returns a copy with its own lists.
func clone(c *crawl.DatasetClaim) *crawl.DatasetClaim {
	d := *c
	d.Files, d.Columns = slices.Clone(c.Files), slices.Clone(c.Columns)
	d.Creators, d.Keywords, d.Extra = slices.Clone(c.Creators), slices.Clone(c.Keywords), maps.Clone(c.Extra)
	return &d
}

// extend appends the lists of the next part of a claim.
func extend(d, c *crawl.DatasetClaim) {
	d.Files, d.Columns = append(d.Files, c.Files...), append(d.Columns, c.Columns...)
	d.Creators, d.Keywords = append(d.Creators, c.Creators...), append(d.Keywords, c.Keywords...)
	if len(c.Extra) > 0 {
		if d.Extra == nil {
			d.Extra = map[string]any{}
		}
		maps.Copy(d.Extra, c.Extra)
	}
}

func sameClaim(a, b *crawl.DatasetClaim) bool {
	return a.Kind == b.Kind && a.Document == b.Document && a.Line == b.Line && a.N == b.N && a.Origin == b.Origin
}

// distinguish makes new identifiers for datasets that would share one. If the datasets are of
// several sites, the one whose host is that of the address keeps it, and the others' own host is
// added to their hash. Two datasets of one site differ by their names; if these are the same as
// well, they are hashed again until they differ.
func distinguish(all []heading) {
	hosts, several := map[string]string{}, map[string]bool{} // by ID
	for i := range all {
		id, host := all[i].id, hostOf(all[i].origin)
		if other, twice := hosts[id]; twice && other != host {
			several[id] = true
		}
		hosts[id] = host
	}
	seen := map[string]int{}
	for i := range all {
		h := &all[i]
		if host := hostOf(h.origin); several[h.id] && host != hostOf(h.address) {
			h.id = shortID(h.id + " " + host)
		}
		seen[h.id]++
	}
	used := make(map[string]bool, len(all))
	last := map[string]string{} // start of a search for a new identifier → where that search ended
	for i := range all {
		h := &all[i]
		if seen[h.id] > 1 {
			h.id = shortID(h.id + " " + h.name)
		}
		if first := h.id; used[first] {
			h.id = cmp.Or(last[first], first)
			for used[h.id] {
				h.id = shortID(h.id)
			}
			last[first] = h.id
		}
		used[h.id] = true
	}
}

// trust is the rank of a claim, 0 for the most trusted. A data.txt about files of another host is
// not a statement of their owner.
func trust(c *crawl.DatasetClaim) int {
	i := slices.Index(crawl.DatasetKinds, c.Kind)
	if i < 0 || c.Kind == crawl.DatasetDataTxt && c.External {
		return len(crawl.DatasetKinds)
	}
	return i
}

// assemble makes one record of a set's claims, the most trusted first. It also returns the address
// by which the dataset is known. For a heading, outlines are sufficient.
func (m *merger) assemble(s *set, heading bool) (crawl.DatasetInfo, string) {
	lead := m.claims[s.claims[0]]
	d := crawl.DatasetInfo{
		Origin: lead.Origin, Allowed: true, FetchedAt: lead.FetchedAt.UTC(), Expires: lead.Expires.UTC(),
		URLs: []string{}, Files: []crawl.DatasetFile{}, Creators: []string{}, Keywords: []string{}, Columns: []crawl.DatasetColumn{}, Extra: map[string]any{},
		Sources: []crawl.DatasetSource{}, AlsoDescribedAt: []crawl.DatasetSource{}, Provenance: map[string]string{}, Conflicts: map[string][]crawl.DatasetStatement{},
		Usage: crawl.UsageOf(nil),
	}
	files, documents := map[string]int{}, map[string]bool{}
	var known []string // the files, without those that only lead to data
	implied := ""
	for _, i := range s.claims {
		c := m.claims[i]
		if !heading {
			c = m.full(i)
		}
		d.Allowed = d.Allowed && c.Allowed
		d.ChangedBy(c)
		if from := documentOf(c); !documents[from] {
			if documents[from] = true; !slices.ContainsFunc(d.Sources, func(s crawl.DatasetSource) bool { return s.Document == c.Document }) {
				d.Usage.Add(c.Usage, c.Document)
			}
			d.Sources = append(d.Sources, crawl.DatasetSource{Kind: c.Kind, Document: c.Document, FetchedAt: c.FetchedAt.UTC()})
		}
		if c.LeftOut > 0 {
			at := slices.IndexFunc(d.Sources, func(s crawl.DatasetSource) bool { return s.Document == c.Document })
			d.Sources[at].LeftOut += c.LeftOut
		}
		if c.Kind == crawl.DatasetDataTxt && d.DataTxt == "" {
			d.DataTxt, d.Form, d.Line = c.Document, c.Form, c.Line
		}
		implied = cmp.Or(implied, c.TypeImplied)
		for name, v := range c.Extra {
			if _, has := d.Extra[name]; !has {
				d.Extra[name] = v
			}
		}
		for _, f := range c.Files {
			if !m.elsewhere(f.URL, s) {
				addFile(&d, files, f, c.Document)
				if !leadsTo(c, &f) {
					known = append(known, f.URL)
				}
			}
		}
		for _, f := range saidOf(&d, c) {
			say(&d, f.name, f.to, f.value, c.Document)
		}
		takeList(&d, "creators", &d.Creators, c.Creators, c.Document)
		takeList(&d, "keywords", &d.Keywords, c.Keywords, c.Document)
		takeColumns(&d, c)
		takeCount(&d, "rows", &d.Rows, c.Rows, c.Document)
		takeCount(&d, "cols", &d.Cols, c.Cols, c.Document)
	}
	d.Type = cmp.Or(d.Type, implied)
	d.External = slices.ContainsFunc(d.URLs, func(u string) bool { return hostOf(u) != hostOf(d.Origin) })
	if d.Name == "" && len(d.URLs) > 0 {
		d.Name = lastSegment(d.URLs[0])
	}
	if spdx := SPDX(d.License); spdx != "" {
		d.SPDX = &spdx
	}
	if !heading {
		d.LicenseByHost = m.licenseByHost(&d, s)
		m.besides(&d, s)
	}
	by := address(&d, known)
	d.ID = shortID(by)
	return d, by
}

// text is a field of a dataset with the value of a claim.
type text struct {
	name  string
	to    *string
	value string
}

func saidOf(d *crawl.DatasetInfo, c *crawl.DatasetClaim) []text {
	return []text{
		{"identifier", &d.Identifier, c.ID}, {"page", &d.Page, c.Page}, {"name", &d.Name, c.Name}, {"title", &d.Title, c.Title},
		{"description", &d.Description, c.Description}, {"license", &d.License, c.License}, {"publisher", &d.Publisher, c.Publisher},
		{"version", &d.Version, c.Version}, {"issued", &d.Issued, c.Issued}, {"modified", &d.Modified, c.Modified}, {"type", &d.Type, c.Type}, {"source", &d.Source, c.Source},
	}
}

// address is what identifies a dataset over time: its identifier, else its first file in
// alphabetical order, else its page.
func address(d *crawl.DatasetInfo, files []string) string {
	switch {
	case d.Identifier != "":
		return d.Identifier
	case len(files) > 0:
		return slices.Min(files)
	case d.Page != "":
		return d.Page + " " + d.Title
	}
	return d.Sources[0].Document + " " + d.Title
}

func shortID(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// say keeps the first value of a field, and records values that contradict it. Differences in
// spaces and case are no contradiction, and neither are two names of one licence.
func say(d *crawl.DatasetInfo, name string, to *string, value, document string) {
	switch {
	case value == "":
	case *to == "":
		*to = value
		d.Provenance[name] = document
	case name == "identifier", sameWords(*to, value), name == "license" && SPDX(*to) != "" && SPDX(*to) == SPDX(value):
	default:
		contradict(d, name, value, document)
	}
}

// maxConflicts is how many other values are shown for a field, because a page may have ten thousand
// copies.
const maxConflicts = 100

// contradict records a different value of a field. Of several documents with the same value, it
// names the first.
func contradict(d *crawl.DatasetInfo, name, value, document string) {
	have := d.Conflicts[name]
	if len(have) < maxConflicts && !slices.ContainsFunc(have, func(s crawl.DatasetStatement) bool { return sameWords(s.Value, value) }) {
		d.Conflicts[name] = append(have, crawl.DatasetStatement{Value: value, Document: document})
	}
}

func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// takeList keeps the first list of names. A list of other names contradicts it, unless the names
// are keywords.
func takeList(d *crawl.DatasetInfo, name string, to *[]string, value []string, document string) {
	switch {
	case len(value) == 0:
	case len(*to) == 0:
		*to, d.Provenance[name] = value, document
	case name != "keywords" && !sameSet(*to, value):
		contradict(d, name, strings.Join(value, "; "), document)
	}
}

// takeColumns keeps the first description of columns, and records a description of other columns as
// a conflict.
func takeColumns(d *crawl.DatasetInfo, c *crawl.DatasetClaim) {
	names := func(all []crawl.DatasetColumn) (names []string) {
		for i := range all {
			names = append(names, all[i].Name)
		}
		return names
	}
	switch {
	case len(c.Columns) == 0:
	case len(d.Columns) == 0:
		d.Columns, d.Provenance["columns"] = c.Columns, c.Document
	case !sameSet(names(d.Columns), names(c.Columns)):
		contradict(d, "columns", strings.Join(names(c.Columns), ", "), c.Document)
	}
}

// sameSet reports whether two lists have the same words, in any order.
func sameSet(a, b []string) bool {
	fold := func(all []string) []string {
		out := make([]string, len(all))
		for i, s := range all {
			out[i] = strings.ToLower(strings.Join(strings.Fields(s), " "))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(fold(a), fold(b))
}

func takeCount(d *crawl.DatasetInfo, name string, to **int64, value *int64, document string) {
	switch {
	case value == nil:
	case *to == nil:
		*to, d.Provenance[name] = value, document
	case **to != *value:
		contradict(d, name, strconv.FormatInt(*value, 10), document)
	}
}

// addFile adds a file, or the details of another document about a known file.
func addFile(d *crawl.DatasetInfo, files map[string]int, f crawl.DatasetFile, document string) {
	i, known := files[f.URL]
	if !known {
		files[f.URL] = len(d.Files)
		d.Files, d.URLs = append(d.Files, f), append(d.URLs, f.URL)
		if d.Provenance["files"] == "" {
			d.Provenance["files"] = document
		}
		return
	}
	have := &d.Files[i]
	have.Name, have.MediaType = cmp.Or(have.Name, f.Name), cmp.Or(have.MediaType, f.MediaType)
	have.Directory = have.Directory || f.Directory
	if have.Bytes != nil && f.Bytes != nil && *have.Bytes != *f.Bytes {
		contradict(d, "bytes", strconv.FormatInt(*f.Bytes, 10)+" "+f.URL, document)
	}
	if have.Bytes = cmp.Or(have.Bytes, f.Bytes); have.Bytes == nil {
		have.BytesAbout = cmp.Or(have.BytesAbout, f.BytesAbout)
	} else {
		have.BytesAbout = nil
	}
	for _, sum := range []struct {
		name  string
		to    *string
		value string
	}{{"sha256", &have.SHA256, f.SHA256}, {"sha512", &have.SHA512, f.SHA512}, {"sha1", &have.SHA1, f.SHA1}, {"md5", &have.MD5, f.MD5}} {
		if *sum.to == "" {
			*sum.to = sum.value
		} else if sum.value != "" && sum.value != *sum.to {
			contradict(d, sum.name, sum.value+" "+f.URL, document)
		}
	}
}

// lastSegment returns the last non-empty segment of a URL's path.
func lastSegment(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	path := strings.TrimRight(u.Path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}
