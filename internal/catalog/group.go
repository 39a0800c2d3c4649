package catalog

import (
	"cmp"
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

// mayBeOne reports whether two groups that name the same file or page may be one dataset.
func (m *merger) mayBeOne(a, b int) bool {
	return !m.differ(a, b) && !m.shareDocument(a, b)
}

// differ reports whether two groups describe different datasets by their own statements. Datasets
// may share a file or a page, and the record of one must not contain the metadata of the other.
// Therefore a record has at most one identifier. All titles of its claims without an identifier are
// alike, and each of them is like a title of a claim with the identifier, if there is one. Claims
// with one identifier may have any titles, for example in several languages.
func (m *merger) differ(a, b int) bool {
	if m.differByID(a, b) {
		return true
	}
	one, other := m.namesOf(a), m.namesOf(b)
	for _, t := range one.titles {
		if slices.ContainsFunc(other.titles, func(o []string) bool { return !alikeTitles(t, o) }) {
			return true
		}
	}
	identified := append(slices.Clip(one.identified), other.identified...)
	for _, titles := range [][][]string{one.titles, other.titles} {
		for _, t := range titles {
			if len(identified) > 0 && !slices.ContainsFunc(identified, func(o []string) bool { return alikeTitles(t, o) }) {
				return true
			}
		}
	}
	return len(one.titles)+len(other.titles) > maxDistinct && len(withTitles(one.titles, other.titles)) > maxDistinct
}

// differByID reports whether two groups have different identifiers.
func (m *merger) differByID(a, b int) bool {
	one, other := m.namesOf(a).id, m.namesOf(b).id
	return one != "" && other != "" && one != other
}

// names are the identifier of a group and the words of its titles, each once.
type names struct {
	id         string
	identified [][]string // of claims with the identifier, the first maxDistinct
	titles     [][]string // of claims without an identifier, at most maxDistinct
}

// namesOf returns the names of a group. They are collected once; unite combines them.
func (m *merger) namesOf(group int) *names {
	if m.known[group] != nil {
		return m.known[group]
	}
	n := &names{}
	for _, i := range m.members[group] {
		c := m.claims[i]
		n.add(&names{id: c.ID})
		if c.Title == "" || c.Kind == crawl.DatasetDataTxt {
			continue // a data.txt describes files in free words
		}
		if title := [][]string{m.titleWords(c.Title)}; c.ID != "" {
			n.add(&names{identified: title})
		} else {
			n.add(&names{titles: title})
		}
	}
	m.known[group] = n
	return n
}

// add adds the names of another group.
func (n *names) add(other *names) {
	n.id = cmp.Or(n.id, other.id)
	if len(n.identified) < maxDistinct {
		n.identified = withTitles(n.identified, other.identified)
		n.identified = n.identified[:min(len(n.identified), maxDistinct)]
	}
	n.titles = withTitles(n.titles, other.titles)
}

// withTitles returns a list of titles with those of another list that it lacks.
func withTitles(all, more [][]string) [][]string {
	for _, t := range more {
		if !slices.ContainsFunc(all, func(o []string) bool { return slices.Equal(o, t) }) {
			all = append(slices.Clip(all), t)
		}
	}
	return all
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
	if m.known[a] != nil && m.known[b] != nil {
		m.known[a].add(m.known[b])
	} else {
		m.known[a] = nil
	}
	m.known[b] = nil
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
		var kept []int // one of the claims of each group
		for _, g := range all {
			claim := m.members[g][0]
			if i := slices.IndexFunc(kept, func(k int) bool { return m.mayBeOne(m.group[k], g) }); i >= 0 {
				m.unite(m.group[kept[i]], g)
			} else if len(kept) < maxDistinct {
				kept = append(kept, claim)
			}
		}
	}
}
