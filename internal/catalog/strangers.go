package catalog

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Anybody may write anything about anybody's dataset, in the JSON-LD of their own pages or in a
// portal's list. So a dataset is made of the statements of one site, and statements of others
// change nothing about it.
//
//  - The host of a file, or of a page for people, describes it. If it does, everybody else's claims
//    about it are shown beside that dataset.
//  - The same is true of an identifier that is an address. A DOI does not show to whom it belongs:
//    it belongs to the site that gives a page of its own for it, if only one site does.
//  - A stranger's dataset is not listed separately when nothing of it remains: all its files are
//    described by their hosts, or it names no files and its page or identifier is described.
//    Otherwise it is listed as the stranger's, without those files.
//  - If a host does not describe its own thing, several strangers may do so. Each of them then has
//    a separate dataset.

// maxAlso is how many documents of other sites are listed for a dataset.
const maxAlso = 20

// set is a dataset that is being made: the claims it is made of, and the groups of claims that are
// shown beside it.
type set struct {
	group   int
	claims  []int // in order of trust
	besides []int // groups in order of their first claims, at most maxAlso
}

// owned maps a thing (a file, page or identifier) to the group in which its host describes it.
type owned map[string]int

// ambiguous replaces a group if there are several.
const ambiguous = -1

func (o owned) note(thing string, group int, only bool) {
	if other, ok := o[thing]; !ok {
		o[thing] = group
	} else if only && other != group {
		o[thing] = ambiguous
	}
}

// group returns the group that owns a thing, unless it is the group but.
func (o owned) group(thing string, but int) (group int, ok bool) {
	if thing == "" {
		return 0, false
	}
	group, ok = o[thing]
	return group, ok && group != ambiguous && group != but
}

// strangers decides which groups become datasets, and which are shown beside them.
func (m *merger) strangers() []set {
	m.owners = owned{}
	pages, ids := owned{}, owned{}
	groups := make([][]int, len(m.claims))
	var order []int // groups by their first claims
	for i, c := range m.claims {
		g := m.group[i]
		if groups[g] == nil {
			order = append(order, g)
			slices.Sort(m.members[g])
			groups[g] = m.members[g]
		}
		for _, f := range c.Files {
			if !leadsTo(c, &f) && m.speaksFor(c, hostOf(f.URL)) {
				m.owners.note(f.URL, g, false)
			}
		}
		if c.Page != "" && m.speaksFor(c, hostOf(c.Page)) {
			pages.note(c.Page, g, true)
		}
		if lands(m, c) {
			ids.note(c.ID, g, true)
		}
	}
	besides := make([][]int, len(m.claims))
	beside := func(g, other int) {
		if g != other && len(besides[g]) < maxAlso && !slices.Contains(besides[g], other) {
			besides[g] = append(besides[g], other)
		}
	}
	var out []set
	same := map[string][]int{} // thing without an owner → the first groups that name it
	for _, g := range order {
		into := m.stranger(g, groups[g], pages, ids)
		for _, o := range into.named {
			beside(o, g)
			if !into.gone {
				beside(g, o)
			}
		}
		for _, thing := range into.unowned {
			for _, o := range same[thing] {
				beside(o, g)
				beside(g, o)
			}
			if len(same[thing]) < maxAlso && !slices.Contains(same[thing], g) {
				same[thing] = append(same[thing], g)
			}
		}
		if !into.gone {
			out = append(out, set{group: g, claims: groups[g]})
		}
	}
	slices.SortFunc(out, func(a, b set) int { return a.group - b.group })
	for i := range out {
		out[i].besides = besides[out[i].group]
	}
	return out
}

// lands reports whether a claim comes from the site that its identifier belongs to: the host of the
// address, or of a page given for a DOI.
func lands(m *merger, c *crawl.DatasetClaim) bool {
	if c.ID == "" {
		return false
	}
	if DOI(c.ID) != "" {
		return m.speaksFor(c, hostOf(c.Page))
	}
	return m.speaksFor(c, hostOf(c.ID))
}

// foreign are the statements of a group about things it does not own.
type foreign struct {
	named   []int    // the groups that own the things it names
	unowned []string // files and identifiers without an owner
	gone    bool     // nothing of the group remains
}

func (m *merger) stranger(g int, claims []int, pages, ids owned) (f foreign) {
	name := func(group int) {
		if !slices.Contains(f.named, group) {
			f.named = append(f.named, group)
		}
	}
	files, left, page, ownPage, ownID, asked := 0, 0, false, false, false, false
	for _, i := range claims {
		c := m.claims[i]
		for _, file := range c.Files {
			files++
			switch o, ok := m.owners[file.URL]; {
			case ok && o != g && !m.speaksFor(c, hostOf(file.URL)):
				if len(f.named) < maxAlso {
					name(o)
				}
			default:
				left++
				if !ok && len(f.unowned) < maxFiles {
					f.unowned = append(f.unowned, file.URL)
				}
			}
		}
		if o, ok := pages.group(c.Page, g); ok && !m.speaksFor(c, hostOf(c.Page)) {
			name(o)
			page = true
		}
		ownPage = ownPage || m.speaksFor(c, hostOf(c.Page))
		if c.ID == "" {
			continue
		}
		ownID = ownID || lands(m, c)
		if o, ok := ids.group(c.ID, g); ok {
			name(o)
			// The page of a DOI belongs to the site that gives it.
			asked = asked || DOI(c.ID) == "" || c.Page != "" && m.speaksFor(m.claims[m.members[o][0]], hostOf(c.Page))
		} else if !ok {
			f.unowned = append(f.unowned, c.ID)
		}
	}
	switch {
	case files > 0:
		f.gone = left == 0
	case ownPage || ownID:
	default:
		f.gone = page || asked
	}
	return f
}

// elsewhere reports whether a file is described by its own host in another dataset, and is
// therefore left out of this one.
func (m *merger) elsewhere(file string, s *set) bool {
	owner, ok := m.owners[file]
	return ok && owner != s.group && !m.speaksFor(m.claims[s.claims[0]], hostOf(file))
}

// licenseByHost reports whether the hosts of all files state the dataset's licence.
func (m *merger) licenseByHost(d *crawl.DatasetInfo, s *set) bool {
	if d.License == "" {
		return false
	}
	var agree [][2]string
	for _, i := range s.claims {
		c := m.claims[i]
		if c.License == "" || !sameLicense(c.License, d.License) {
			continue
		}
		if own := hosts(c); !slices.Contains(agree, own) {
			agree = append(agree, own)
		}
	}
	for _, u := range d.URLs {
		host := hostOf(u)
		if host == "" || !slices.ContainsFunc(agree, func(own [2]string) bool { return slices.Contains(own[:], host) }) {
			return false
		}
	}
	return true
}

func sameLicense(a, b string) bool {
	return sameWords(a, b) || SPDX(a) != "" && SPDX(a) == SPDX(b)
}

// besides adds the documents of other sites that describe a dataset, and their statements that
// differ.
func (m *merger) besides(d *crawl.DatasetInfo, s *set) {
	for _, g := range s.besides {
		for _, i := range m.members[g] {
			c := m.full(i)
			if len(d.AlsoDescribedAt) == maxAlso {
				return
			}
			source := crawl.DatasetSource{Kind: c.Kind, Document: c.Document, FetchedAt: c.FetchedAt.UTC()}
			if slices.ContainsFunc(d.AlsoDescribedAt, func(o crawl.DatasetSource) bool { return o.Document == c.Document }) {
				continue
			}
			d.ChangedBy(c)
			d.AlsoDescribedAt = append(d.AlsoDescribedAt, source)
			for _, f := range saidOf(d, c) {
				if f.value != "" && f.name != "identifier" && !sameWords(*f.to, f.value) && !(f.name == "license" && sameLicense(*f.to, f.value)) {
					contradict(d, f.name, f.value, c.Document)
				}
			}
			for _, n := range []struct {
				name  string
				has   *int64
				value *int64
			}{{"rows", d.Rows, c.Rows}, {"cols", d.Cols, c.Cols}} {
				if n.value != nil && (n.has == nil || *n.has != *n.value) {
					contradict(d, n.name, number(n.value), c.Document)
				}
			}
			if len(c.Creators) > 0 && !sameSet(d.Creators, c.Creators) {
				contradict(d, "creators", strings.Join(c.Creators, "; "), c.Document)
			}
		}
	}
}
