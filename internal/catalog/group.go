package catalog

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
)

// merger joins claims into groups; a group is named by its first claim. A group has members and documents while it has that name.
type merger struct {
	claims    []crawl.DatasetClaim
	group     []int
	members   [][]int
	documents []map[string]bool
	files     []bool // some claim of the group names a file
}

func newMerger(claims []crawl.DatasetClaim) *merger {
	n := len(claims)
	m := &merger{claims: claims, group: make([]int, n), members: make([][]int, n), documents: make([]map[string]bool, n), files: make([]bool, n)}
	for i := range claims {
		m.files[i] = len(claims[i].Files) > 0
		m.group[i], m.members[i], m.documents[i] = i, []int{i}, map[string]bool{claims[i].Document: true}
	}
	return m
}

// join puts claims with a key in common into one group; claims of one document only with sameDocument.
func (m *merger) join(keys func(*crawl.DatasetClaim) []string, sameDocument bool) {
	first := map[string]int{}
	for i := range m.claims {
		for _, k := range keys(&m.claims[i]) {
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

// unite makes one group of two, under the name of the larger: what the smaller one has moves, so that joining n claims one by one
// takes n log n steps.
func (m *merger) unite(a, b int) {
	if len(m.members[a]) < len(m.members[b]) {
		a, b = b, a
	}
	for _, k := range m.members[b] {
		m.group[k] = a
	}
	m.members[a] = append(m.members[a], m.members[b]...)
	for d := range m.documents[b] {
		m.documents[a][d] = true
	}
	m.files[a] = m.files[a] || m.files[b]
	m.members[b], m.documents[b] = nil, nil
}

func (m *merger) shareDocument(a, b int) bool {
	if len(m.documents[a]) > len(m.documents[b]) {
		a, b = b, a
	}
	for d := range m.documents[a] {
		if m.documents[b][d] {
			return true
		}
	}
	return false
}

// joinByPage puts together what is said of the same page for people, where a group names no file: with the one other group that
// does, if there is just one, else with the others that name none. Which of several is meant is not guessed.
func (m *merger) joinByPage() {
	byPage := map[string][]int{} // groups
	var pages []string
	for i := range m.claims {
		p := m.claims[i].Page
		switch {
		case p == "":
			continue
		case byPage[p] == nil:
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
			for d := range m.documents[g] {
				tells[d]++
			}
		}
		without = slices.DeleteFunc(without, func(g int) bool { // a document with several datasets on that page
			for d := range m.documents[g] {
				if tells[d] > 1 {
					return true
				}
			}
			return false
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
