package siterules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Rules are the rules of a file, checked and compiled. They never change, and may be used
// concurrently. Nil has no rules.
type Rules struct {
	name    string // of the file
	hash    uint64
	entries []*entry
	exact   map[canon.Host]*paths
	below   map[canon.Host]*paths // by the name in the pattern
	schema  []FieldInfo
	many    map[string]bool
	used    map[string]bool // keys that any entry has

	mu    sync.Mutex // guards sites
	sites map[string]*Site
}

// paths are the entries of a host by their paths.
type paths struct {
	byPath  map[string][]*entry
	longest int
}

// maxSites bounds the merged rules in memory. A file of the largest size has fewer.
const maxSites = 4 * MaxEntries

// build makes the index of the entries. Looking for a URL takes as many steps as its host has
// labels and its path has folders, however many entries there are.
func (r *Rules) build() {
	r.exact, r.below, r.many = map[canon.Host]*paths{}, map[canon.Host]*paths{}, map[string]bool{}
	r.used = map[string]bool{}
	kinds := map[string]crawl.FieldType{}
	for _, e := range r.entries {
		maps.Copy(r.used, e.has)
		into := r.exact
		if e.host.IsBelow() {
			into = r.below
		}
		p := into[e.host.Name()]
		if p == nil {
			p = &paths{byPath: map[string][]*entry{}}
			into[e.host.Name()] = p
		}
		p.byPath[e.path] = append(p.byPath[e.path], e)
		p.longest = max(p.longest, len(e.path))
		for _, f := range e.fields {
			kinds[f.name] = f.kind
			r.many[f.name] = r.many[f.name] || f.many
		}
	}
	for _, into := range []map[canon.Host]*paths{r.exact, r.below} {
		for _, p := range into {
			for _, list := range p.byPath {
				slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(b.rank(), a.rank()) })
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		r.schema = append(r.schema, FieldInfo{name, kinds[name], r.many[name]})
	}
	r.sites = map[string]*Site{}
}

// Hash is the Spec.SitesHash of the rules, 0 if there are none.
func (r *Rules) Hash() uint64 {
	if r == nil {
		return 0
	}
	return r.hash
}

// For returns the rules of a URL, nil if no entry is about it.
func (r *Rules) For(u canon.URL) *Site {
	if r == nil || len(r.entries) == 0 {
		return nil
	}
	chain := r.chain(u)
	if len(chain) == 0 {
		return nil
	}
	id := make([]byte, 0, 4*len(chain))
	for _, e := range chain {
		id = append(id, byte(e.number), byte(e.number>>8), byte(e.number>>16))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sites[string(id)]
	if s == nil {
		if len(r.sites) >= maxSites {
			clear(r.sites)
		}
		s = r.merged(chain)
		r.sites[string(id)] = s
	}
	return s
}

// chain are the entries about a URL, the most specific first.
func (r *Rules) chain(u canon.URL) (chain []*entry) {
	host := u.Host()
	scheme, port := u.Scheme(), u.Port()
	add := func(p *paths) {
		if p == nil {
			return
		}
		path := u.Path()
		for end := len(path); end >= 0; end = strings.LastIndexByte(path[:end], '/') {
			if end > p.longest {
				continue
			}
			for _, e := range p.byPath[path[:end]] {
				if e.fits(scheme, port) {
					chain = append(chain, e)
				}
			}
		}
	}
	add(r.exact[host])
	if len(r.below) > 0 {
		for name := host; name != ""; {
			add(r.below[name])
			_, after, _ := strings.Cut(string(name), ".")
			name = canon.Host(after)
		}
	}
	return chain
}

// merged makes the rules of a chain of entries.
func (r *Rules) merged(chain []*entry) *Site {
	s := &Site{rules: r, entry: chain[0]}
	done := map[string]bool{}
	for _, e := range chain {
		s.Delay = max(s.Delay, e.site.Delay)
		for prefix, list := range map[string][]setting{"": settings, "content.": contentParts} {
			for _, k := range list {
				if key := prefix + k.name; k.take != nil && e.has[key] && !done[key] {
					done[key] = true
					k.take(s, &e.site)
				}
			}
		}
		for _, f := range e.fields {
			if !done["fields."+f.name] {
				done["fields."+f.name] = true
				s.fields = append(s.fields, f)
			}
		}
	}
	slices.SortFunc(s.fields, func(a, b *field) int { return strings.Compare(a.name, b.name) })
	return s
}

// Schema returns all fields of all entries, in the order of their names.
func (r *Rules) Schema() []FieldInfo {
	if r == nil {
		return nil
	}
	return slices.Clone(r.schema)
}

// FieldInfo describes a field. Its type is the same in all entries.
type FieldInfo struct {
	Name string
	Type crawl.FieldType
	Many bool // in one entry at least
}

// Seeds returns the URLs that all entries add to the seeds of the crawl.
func (r *Rules) Seeds() []canon.URL { return r.urls(func(s *Site) []canon.URL { return s.seeds }) }

// Sitemaps returns the sitemaps that all entries name.
func (r *Rules) Sitemaps() []canon.URL {
	return r.urls(func(s *Site) []canon.URL { return s.sitemaps })
}

// urls collects URLs of all entries without duplicates.
func (r *Rules) urls(of func(*Site) []canon.URL) (all []canon.URL) {
	if r == nil {
		return nil
	}
	seen := map[canon.URL]bool{}
	for _, e := range r.entries {
		for _, u := range of(&e.site) {
			if !seen[u] {
				seen[u] = true
				all = append(all, u)
			}
		}
	}
	return all
}

// Fields returns the names of the fields of the site, sorted. A nil Site has none.
func (s *Site) Fields() (names []string) {
	if s == nil {
		return nil
	}
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}

// Entry is the most specific entry of the site, as it is written, and its line.
func (s *Site) Entry() string {
	return fmt.Sprintf("%s:%d: %s", s.rules.name, s.entry.line, s.entry.text)
}
