package catalog

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
)

// merger joins claims into groups. A group is named by the number of one of its claims; members and
// documents are kept under that name.
type merger struct {
	claims    []*crawl.DatasetClaim
	group     []int
	members   [][]int
	documents []map[string]bool // of a group of several claims; that of a single one is the claim's
	files     []bool            // some claim of the group names a file
	owners    owned             // of files
	shelf     *shelf            // what claims say beside their outlines
	failed    error             // it could not be read
}

func newMerger(claims []*crawl.DatasetClaim) *merger {
	n := len(claims)
	m := &merger{claims: claims, group: make([]int, n), members: make([][]int, n), documents: make([]map[string]bool, n), files: make([]bool, n)}
	alone := make([]int, n)
	for i := range claims {
		m.files[i] = len(claims[i].Files) > 0
		alone[i] = i
		m.group[i], m.members[i] = i, alone[i:i+1:i+1]
	}
	return m
}

// join puts claims with a key in common into one group. Claims of the same document are joined
// only with sameDocument.
func (m *merger) join(keys func(*crawl.DatasetClaim) []string, sameDocument bool) {
	first := map[string]int{}
	for i, c := range m.claims {
		for _, k := range keys(c) {
			j, ok := first[k]
			if !ok {
				first[k] = i
				continue
			}
			if a, b := m.group[j], m.group[i]; a != b && (sameDocument || !m.shareDocument(a, b)) {
				m.unite(a, b)
			}
		}
	}
}

// unite makes one group of two, under the name of the larger. Only the members of the smaller one
// move, so joining n claims one by one takes n log n steps.
func (m *merger) unite(a, b int) {
	if len(m.members[a]) < len(m.members[b]) {
		a, b = b, a
	}
	if m.documents[a] == nil {
		m.documents[a] = map[string]bool{documentOf(m.claims[a]): true}
	}
	for _, k := range m.members[b] {
		m.group[k] = a
	}
	m.members[a] = append(m.members[a], m.members[b]...)
	m.each(b, func(d string) bool { m.documents[a][d] = true; return true })
	m.files[a] = m.files[a] || m.files[b]
	m.members[b], m.documents[b] = nil, nil
}

// documentOf tells documents apart. The header of a page is one beside the page: both may tell of
// the same dataset.
func documentOf(c *crawl.DatasetClaim) string {
	if c.Kind == crawl.DatasetHeader {
		return "header of " + c.Document
	}
	return c.Document
}

// each calls fn for the documents of a group until it returns false.
func (m *merger) each(group int, fn func(string) bool) {
	if m.documents[group] == nil {
		fn(documentOf(m.claims[group]))
		return
	}
	for d := range m.documents[group] {
		if !fn(d) {
			return
		}
	}
}

func (m *merger) has(group int, document string) bool {
	if m.documents[group] == nil {
		return documentOf(m.claims[group]) == document
	}
	return m.documents[group][document]
}

func (m *merger) shareDocument(a, b int) (share bool) {
	if len(m.documents[a]) > len(m.documents[b]) {
		a, b = b, a
	}
	m.each(a, func(d string) bool {
		share = m.has(b, d)
		return !share
	})
	return share
}

// joinByPage joins groups that name no file and describe the same page for people. If exactly one
// group that does name files describes that page, they are joined with it; which of several is
// meant is not guessed. A page of another host joins only claims of one site; see said.
func (m *merger) joinByPage() {
	byPage := map[string][]int{} // groups
	var pages []string
	for i, c := range m.claims {
		if c.Page == "" {
			continue
		}
		p := m.said(c, c.Page, hostOf(c.Page))
		if byPage[p] == nil {
			pages = append(pages, p)
		}
		byPage[p] = append(byPage[p], i)
	}
	for _, p := range pages {
		var with, without []int
		seen, tells := map[int]bool{}, map[string]int{}
		for _, i := range byPage[p] {
			g := m.group[i]
			if seen[g] {
				continue
			}
			seen[g] = true
			if m.files[g] {
				with = append(with, g)
				continue
			}
			without = append(without, g)
			m.each(g, func(d string) bool { tells[d]++; return true })
		}
		// not those of a document with several datasets on that page
		without = slices.DeleteFunc(without, func(g int) (several bool) {
			m.each(g, func(d string) bool {
				several = tells[d] > 1
				return !several
			})
			return several
		})
		all := without
		if len(with) == 1 {
			all = append(with, without...)
		}
		for _, g := range all[min(1, len(all)):] {
			if a := m.group[all[0]]; !m.shareDocument(a, g) {
				m.unite(a, g)
			}
		}
	}
}
