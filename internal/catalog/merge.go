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

// Merge puts claims about the same dataset together: those that give the same identifier, or name the same file, or, when one
// of them names no file at all, the same page for people. Claims of one document are about different datasets, whatever they
// share, unless they give the same identifier. The result depends on the set of claims only, and is ordered by origin and name.
func Merge(claims []crawl.DatasetClaim) []crawl.DatasetInfo {
	claims = slices.Clone(claims)
	slices.SortStableFunc(claims, func(a, b crawl.DatasetClaim) int {
		return cmp.Or(cmp.Compare(trust(a.Kind), trust(b.Kind)), cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line), cmp.Compare(a.N, b.N),
			cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Part, b.Part))
	})
	claims = whole(claims)
	m := &merger{claims: claims, group: make([]int, len(claims)), members: make([][]int, len(claims))}
	for i := range claims {
		m.group[i], m.members[i] = i, []int{i}
	}
	m.join(func(c *crawl.DatasetClaim) []string { return only(c.ID) }, true)
	m.join(func(c *crawl.DatasetClaim) []string {
		urls := make([]string, len(c.Files))
		for i, f := range c.Files {
			urls[i] = f.URL
		}
		return urls
	}, false)
	m.join(func(c *crawl.DatasetClaim) []string {
		if len(c.Files) == 0 {
			return only(c.Page)
		}
		return nil
	}, false)
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

func trust(kind string) int {
	if i := slices.Index(crawl.DatasetKinds, kind); i >= 0 {
		return i
	}
	return len(crawl.DatasetKinds)
}

// merger joins claims into groups; a group is named by its first claim.
type merger struct {
	claims  []crawl.DatasetClaim
	group   []int
	members [][]int
}

func (m *merger) join(keys func(*crawl.DatasetClaim) []string, sameDocument bool) {
	first := map[string]int{}
	for i := range m.claims {
		for _, k := range keys(&m.claims[i]) {
			j, ok := first[k]
			if !ok {
				first[k] = i
				continue
			}
			a, b := m.group[j], m.group[i]
			if a == b || !sameDocument && m.shareDocument(a, b) {
				continue
			}
			if b < a {
				a, b = b, a
			}
			for _, k := range m.members[b] {
				m.group[k] = a
			}
			m.members[a] = append(m.members[a], m.members[b]...)
			m.members[b] = nil
		}
	}
}

func (m *merger) shareDocument(a, b int) bool {
	for _, i := range m.members[a] {
		for _, j := range m.members[b] {
			if m.claims[i].Document == m.claims[j].Document {
				return true
			}
		}
	}
	return false
}

// assemble makes one record of the claims at these places, most trusted first.
func assemble(claims []crawl.DatasetClaim, at []int) crawl.DatasetInfo {
	lead := &claims[at[0]]
	d := crawl.DatasetInfo{
		Origin: lead.Origin, External: lead.External, Allowed: true, FetchedAt: lead.FetchedAt.UTC(), Expires: lead.Expires.UTC(),
		URLs: []string{}, Files: []crawl.DatasetFile{}, Creators: []string{}, Keywords: []string{}, Columns: []crawl.DatasetColumn{}, Extra: map[string]any{},
		Sources: []crawl.DatasetSource{}, Provenance: map[string]string{}, Conflicts: map[string][]crawl.DatasetSaid{},
	}
	files := map[string]int{}
	for _, i := range at {
		c := &claims[i]
		d.Allowed = d.Allowed && c.Allowed
		if !slices.ContainsFunc(d.Sources, func(s crawl.DatasetSource) bool { return s.Document == c.Document }) {
			d.Sources = append(d.Sources, crawl.DatasetSource{Kind: c.Kind, Document: c.Document, FetchedAt: c.FetchedAt.UTC()})
		}
		if c.Kind == crawl.DatasetDataTxt && d.DataTxt == "" {
			d.DataTxt, d.Form, d.Line = c.Document, c.Form, c.Line
		}
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
		if len(d.Columns) == 0 && len(c.Columns) > 0 {
			d.Columns, d.Provenance["columns"] = c.Columns, c.Document
		}
		takeCount(&d, "rows", &d.Rows, c.Rows, c.Document)
		takeCount(&d, "cols", &d.Cols, c.Cols, c.Document)
	}
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
		d.Conflicts[name] = append(d.Conflicts[name], crawl.DatasetSaid{Value: says, Document: document})
	}
}

func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

func takeList(d *crawl.DatasetInfo, name string, to *[]string, says []string, document string) {
	if len(*to) == 0 && len(says) > 0 {
		*to, d.Provenance[name] = says, document
	}
}

func takeCount(d *crawl.DatasetInfo, name string, to **int64, says *int64, document string) {
	switch {
	case says == nil:
	case *to == nil:
		*to, d.Provenance[name] = says, document
	case **to != *says:
		d.Conflicts[name] = append(d.Conflicts[name], crawl.DatasetSaid{Value: strconv.FormatInt(*says, 10), Document: document})
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
	have.Bytes = cmp.Or(have.Bytes, f.Bytes)
	for _, sum := range []struct {
		name string
		to   *string
		says string
	}{{"sha256", &have.SHA256, f.SHA256}, {"md5", &have.MD5, f.MD5}} {
		if *sum.to == "" {
			*sum.to = sum.says
		} else if sum.says != "" && sum.says != *sum.to {
			d.Conflicts[sum.name] = append(d.Conflicts[sum.name], crawl.DatasetSaid{Value: sum.says + " " + f.URL, Document: document})
		}
	}
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
