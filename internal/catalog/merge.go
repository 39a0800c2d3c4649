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
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Merge puts claims about the same dataset together: those that give the same identifier, or name the same file, or, when one
// of them names no file at all, the same page for people; and what a nested data.txt fills in to what it fills. Claims of one document
// are about different datasets, whatever they share, unless they give the same identifier. Of several copies of one data.txt,
// which more than one origin may have redirected to, the newest counts. The result depends on the set of claims only, and is
// ordered by origin and name.
func Merge(claims []crawl.DatasetClaim) []crawl.DatasetInfo {
	claims = newest(slices.Clone(claims))
	slices.SortStableFunc(claims, func(a, b crawl.DatasetClaim) int {
		return cmp.Or(cmp.Compare(trust(&a), trust(&b)), cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Document, b.Document),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.N, b.N), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Part, b.Part))
	})
	claims = whole(claims)
	m := newMerger(claims)
	m.join(func(c *crawl.DatasetClaim) []string { return only(c.ID) }, true)
	m.join(func(c *crawl.DatasetClaim) []string {
		if c.Kind != crawl.DatasetDataTxt {
			return nil
		}
		keys := only(refKey(crawl.DatasetRef{Document: c.Document, N: c.N}))
		if c.Fills != nil {
			keys = append(keys, refKey(*c.Fills))
		}
		return keys
	}, false)
	m.join(func(c *crawl.DatasetClaim) []string {
		var urls []string
		for _, f := range c.Files {
			urls = append(urls, f.URL)
		}
		return urls
	}, false)
	m.joinByPage()
	var out []crawl.DatasetInfo
	for i, members := range m.members {
		if m.group[i] == i {
			slices.Sort(members)
			out = append(out, assemble(claims, members))
		}
	}
	slices.SortStableFunc(out, func(a, b crawl.DatasetInfo) int {
		return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.DataTxt, b.DataTxt), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	distinguish(out)
	return out
}

// newest leaves out claims from a copy of a data.txt when there is a newer one.
func newest(claims []crawl.DatasetClaim) []crawl.DatasetClaim {
	type copied struct {
		origin string
		at     time.Time
	}
	best := map[string]copied{}
	for i := range claims {
		c := &claims[i]
		if c.Kind != crawl.DatasetDataTxt || c.Part > 0 {
			continue
		}
		b, ok := best[c.Document]
		if !ok || c.FetchedAt.After(b.at) || c.FetchedAt.Equal(b.at) && c.Origin < b.origin {
			best[c.Document] = copied{c.Origin, c.FetchedAt}
		}
	}
	return slices.DeleteFunc(claims, func(c crawl.DatasetClaim) bool {
		b, ok := best[c.Document]
		return ok && c.Kind == crawl.DatasetDataTxt && c.Origin != b.origin
	})
}

func refKey(r crawl.DatasetRef) string { return strconv.Itoa(r.N) + " " + r.Document }

// whole puts the parts of long claims together, and takes a claim that came twice once.
func whole(claims []crawl.DatasetClaim) []crawl.DatasetClaim {
	out := claims[:0]
	part := 0
	for _, c := range claims {
		if len(out) == 0 || !sameClaim(&out[len(out)-1], &c) {
			out = append(out, c)
			part = c.Part
			continue
		}
		if c.Part == part {
			continue
		}
		part = c.Part
		d := &out[len(out)-1]
		d.Files, d.Columns = slices.Concat(d.Files, c.Files), slices.Concat(d.Columns, c.Columns)
		d.Creators, d.Keywords = slices.Concat(d.Creators, c.Creators), slices.Concat(d.Keywords, c.Keywords)
		if len(c.Extra) > 0 {
			all := maps.Clone(d.Extra)
			if all == nil {
				all = map[string]any{}
			}
			maps.Copy(all, c.Extra)
			d.Extra = all
		}
	}
	return out
}

func sameClaim(a, b *crawl.DatasetClaim) bool {
	return a.Kind == b.Kind && a.Document == b.Document && a.Line == b.Line && a.N == b.N && a.Origin == b.Origin
}

// distinguish lengthens the identifiers of datasets that would share one: two of the same address, by name.
func distinguish(all []crawl.DatasetInfo) {
	seen := map[string]int{}
	for i := range all {
		seen[all[i].ID]++
	}
	used := map[string]bool{}
	for i := range all {
		d := &all[i]
		if seen[d.ID] > 1 {
			d.ID = shortID(d.ID + " " + d.Name)
		}
		for used[d.ID] {
			d.ID = shortID(d.ID)
		}
		used[d.ID] = true
	}
}

func only(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// trust is the rank of a claim, 0 for the most trusted. A data.txt that tells of files of another host is no word of their owner.
func trust(c *crawl.DatasetClaim) int {
	i := slices.Index(crawl.DatasetKinds, c.Kind)
	if i < 0 || c.Kind == crawl.DatasetDataTxt && c.External {
		return len(crawl.DatasetKinds)
	}
	return i
}

// assemble makes one record of the claims at these places, most trusted first.
func assemble(claims []crawl.DatasetClaim, at []int) crawl.DatasetInfo {
	lead := &claims[at[0]]
	d := crawl.DatasetInfo{
		Origin: lead.Origin, Allowed: true, FetchedAt: lead.FetchedAt.UTC(), Expires: lead.Expires.UTC(),
		URLs: []string{}, Files: []crawl.DatasetFile{}, Creators: []string{}, Keywords: []string{}, Columns: []crawl.DatasetColumn{}, Extra: map[string]any{},
		Sources: []crawl.DatasetSource{}, Provenance: map[string]string{}, Conflicts: map[string][]crawl.DatasetSaid{},
	}
	files, documents := map[string]int{}, map[string]bool{}
	implied := ""
	for _, i := range at {
		c := &claims[i]
		d.Allowed = d.Allowed && c.Allowed
		if !documents[c.Document] {
			documents[c.Document] = true
			d.Sources = append(d.Sources, crawl.DatasetSource{Kind: c.Kind, Document: c.Document, FetchedAt: c.FetchedAt.UTC()})
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
			addFile(&d, files, f, c.Document)
		}
		for _, f := range []struct {
			name string
			to   *string
			says string
		}{
			{"identifier", &d.Identifier, c.ID}, {"page", &d.Page, c.Page}, {"name", &d.Name, c.Name}, {"title", &d.Title, c.Title},
			{"description", &d.Description, c.Description}, {"license", &d.License, c.License}, {"publisher", &d.Publisher, c.Publisher},
			{"version", &d.Version, c.Version}, {"issued", &d.Issued, c.Issued}, {"modified", &d.Modified, c.Modified}, {"type", &d.Type, c.Type}, {"source", &d.Source, c.Source},
		} {
			say(&d, f.name, f.to, f.says, c.Document)
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
	d.ID = shortID(address(&d))
	return d
}

// address is what a dataset is known by over time: its identifier, else its first file in the order of letters, else its page.
func address(d *crawl.DatasetInfo) string {
	switch {
	case d.Identifier != "":
		return d.Identifier
	case len(d.URLs) > 0:
		return slices.Min(d.URLs)
	case d.Page != "":
		return d.Page + " " + d.Title
	}
	return d.Sources[0].Document + " " + d.Title
}

func shortID(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// say takes the first word on a field, and notes what contradicts it. Blanks and case are no contradiction, nor are two ways
// to name one licence.
func say(d *crawl.DatasetInfo, name string, to *string, says, document string) {
	switch {
	case says == "":
	case *to == "":
		*to = says
		d.Provenance[name] = document
	case name == "identifier", sameWords(*to, says), name == "license" && SPDX(*to) != "" && SPDX(*to) == SPDX(says):
	default:
		contradict(d, name, says, document)
	}
}

// maxConflicts bounds the values shown beside the one that is believed: a page may have ten thousand twins.
const maxConflicts = 100

// contradict notes what a document says of a field instead; who says it first stands for all that say the same.
func contradict(d *crawl.DatasetInfo, name, says, document string) {
	have := d.Conflicts[name]
	if len(have) < maxConflicts && !slices.ContainsFunc(have, func(s crawl.DatasetSaid) bool { return sameWords(s.Value, says) }) {
		d.Conflicts[name] = append(have, crawl.DatasetSaid{Value: says, Document: document})
	}
}

func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// takeList takes the first list of names. Another one is a contradiction when it names others; other keywords are none.
func takeList(d *crawl.DatasetInfo, name string, to *[]string, says []string, document string) {
	switch {
	case len(says) == 0:
	case len(*to) == 0:
		*to, d.Provenance[name] = says, document
	case name != "keywords" && !sameSet(*to, says):
		contradict(d, name, strings.Join(says, "; "), document)
	}
}

// takeColumns takes the first description of columns, and notes one of other columns.
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

// sameSet reports whether two lists hold the same words, in any order.
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

func takeCount(d *crawl.DatasetInfo, name string, to **int64, says *int64, document string) {
	switch {
	case says == nil:
	case *to == nil:
		*to, d.Provenance[name] = says, document
	case **to != *says:
		contradict(d, name, strconv.FormatInt(*says, 10), document)
	}
}

// addFile adds a file, or what another document knows of one that is there.
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
	have.Bytes = cmp.Or(have.Bytes, f.Bytes)
	for _, sum := range []struct {
		name string
		to   *string
		says string
	}{{"sha256", &have.SHA256, f.SHA256}, {"md5", &have.MD5, f.MD5}} {
		if *sum.to == "" {
			*sum.to = sum.says
		} else if sum.says != "" && sum.says != *sum.to {
			contradict(d, sum.name, sum.says+" "+f.URL, document)
		}
	}
}

func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// lastSegment is the last non-empty segment of a URL's path.
func lastSegment(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	path := strings.TrimRight(u.Path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}
