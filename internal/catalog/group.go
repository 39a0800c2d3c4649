package catalog

import (
	"slices"
	"strings"
	"unicode"

	"github.com/curtsy/curtsy/internal/crawl"
)

// merger joins claims into groups. A group is identified by the number of one of its claims;
// members and documents are stored under that number.
type merger struct {
	claims    []*crawl.DatasetClaim
	group     []int
	members   [][]int
	documents []map[string]bool   // of a group of several claims; one claim has its own
	files     []bool              // some claim of the group names a file
	known     []*names            // of a group, once compared; nil after a change
	words     map[string][]string // of a title: see titleWords
	owners    owned               // of files
	shelf     *shelf              // the claims without their outlines
	failed    error               // the shelf could not be read
}

func newMerger(claims []*crawl.DatasetClaim) *merger {
	n := len(claims)
	m := &merger{claims: claims, group: make([]int, n), members: make([][]int, n), documents: make([]map[string]bool, n), files: make([]bool, n)}
	m.known, m.words = make([]*names, n), map[string][]string{}
	alone := make([]int, n)
	for i := range claims {
		m.files[i] = len(claims[i].Files) > 0
		alone[i] = i
		m.group[i], m.members[i] = i, alone[i:i+1:i+1]
	}
	return m
}

// join puts claims with a common key into one group. Claims of the same document are joined only
// with sameDocument.
func (m *merger) join(keys func(*crawl.DatasetClaim) []string, sameDocument bool) {
	m.joinIf(keys, func(a, b int) bool { return sameDocument || !m.shareDocument(a, b) })
}

// maxDistinct is how many groups with a common key are kept separate and compared with further
// claims. A claim that belongs to none of them then stays alone, even if it would have matched
// another such claim. Claims are sorted before they are joined, so this depends only on the set of
// claims.
const maxDistinct = 32

// joinIf puts claims with a common key into one group if may allows it for their groups. For each
// claim it asks may once per other group, and again only after the claim's group has changed,
// because two claims may have thousands of keys in common.
func (m *merger) joinIf(keys func(*crawl.DatasetClaim) []string, may func(a, b int) bool) {
	with := map[string][]int{}
	refused := make([]int, len(m.claims)) // a group → the last round in which it was refused
	round := 0
	for i, c := range m.claims {
		round++
		for _, k := range keys(c) {
			joined := false
			for _, j := range with[k] {
				a, b := m.group[j], m.group[i]
				if joined = a == b; joined {
					break
				}
				if refused[a] == round {
					continue
				}
				if joined = may(a, b); joined {
					m.unite(a, b)
					round++
					break
				}
				refused[a] = round
			}
			if !joined && len(with[k]) < maxDistinct {
				with[k] = append(with[k], i)
			}
		}
	}
}

// mayShareFile reports whether two groups that name the same file may be one dataset.
func (m *merger) mayShareFile(a, b int) bool {
	return !m.differ(a, b) && !m.shareDocument(a, b)
}

// differ reports whether two groups describe different datasets by their own statements: they have
// different identifiers or, if one of them has none, different titles. Two datasets may share a
// file, and the record of one must not contain the metadata of the other.
func (m *merger) differ(a, b int) bool {
	one, other := m.namesOf(a), m.namesOf(b)
	if len(one.ids) > 0 && len(other.ids) > 0 {
		return !slices.ContainsFunc(one.ids, func(id string) bool { return slices.Contains(other.ids, id) })
	}
	return len(one.titles) > 0 && len(other.titles) > 0 && !slices.ContainsFunc(one.titles, func(t []string) bool {
		return slices.ContainsFunc(other.titles, func(o []string) bool { return alikeTitles(t, o) })
	})
}

// names are the identifiers of a group and the words of its titles.
type names struct {
	ids    []string
	titles [][]string
}

// namesOf returns the names of a group's first maxDistinct claims. Two groups match if they have
// one name in common. The names are collected once, and again after the group has changed.
func (m *merger) namesOf(group int) *names {
	if m.known[group] != nil {
		return m.known[group]
	}
	n, seen := &names{}, map[string]bool{}
	for _, i := range m.members[group][:min(len(m.members[group]), maxDistinct)] {
		c := m.claims[i]
		if c.ID != "" && !slices.Contains(n.ids, c.ID) {
			n.ids = append(n.ids, c.ID)
		}
		// The title of a data.txt entry describes files in free words, so it is not compared.
		if c.Title != "" && c.Kind != crawl.DatasetDataTxt && !seen[c.Title] {
			seen[c.Title] = true
			n.titles = append(n.titles, m.titleWords(c.Title))
		}
	}
	m.known[group] = n
	return n
}

// titleWords returns the words of a title in lower case, sorted, each once.
func (m *merger) titleWords(title string) []string {
	words, ok := m.words[title]
	if !ok {
		words = strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		slices.Sort(words)
		words = slices.Compact(words)
		m.words[title] = words
	}
	return words
}

// alikeTitles reports whether two titles may belong to one dataset: all words of one are in the
// other. Both must be sorted.
func alikeTitles(a, b []string) bool {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	for _, w := range short {
		at, found := slices.BinarySearch(long, w)
		if !found {
			return false
		}
		long = long[at+1:]
	}
	return len(short) > 0
}

// unite makes one group of two, under the number of the larger. Only the members of the smaller one
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
	m.known[a], m.known[b] = nil, nil
}

// documentOf identifies a claim's document. The header of a page counts as a separate document,
// because both may describe the same dataset.
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
// group with files describes that page, they are joined with it; if several do, none is chosen. A
// page of another host joins only claims of one site; see said.
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
		seen, datasets := map[int]bool{}, map[string]int{}
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
			m.each(g, func(d string) bool { datasets[d]++; return true })
		}
		// except groups of a document with several datasets on that page
		without = slices.DeleteFunc(without, func(g int) (several bool) {
			m.each(g, func(d string) bool {
				several = datasets[d] > 1
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
