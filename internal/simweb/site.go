package simweb

import (
	"cmp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/prose"
)

// site is one virtual host. It does not change after New, except for its robots.txt.
type site struct {
	web    *Web
	index  int
	name   string
	upper  string // the name in capitals, as in some links
	b      Behavior
	pages  int   // numbered pages; page 0 is the home
	fan    int   // tree links of each page
	mirror *site // the host whose content this one serves, if any
	// The host to whose robots.txt this one redirects, or whose file it has too, if any
	lender *site

	header string // of each numbered page: lines, each ending in CRLF

	rare      string // a word that only a few of its pages contain
	rarePages [3]int

	hostLine      string // the Host line of its robots.txt
	robots        robotsFile
	given         atomic.Pointer[givenRobots] // the robots.txt of SetRobots, instead of robots
	queuedBecause string                      // why nothing may be fetched here at all, for now

	children []*site              // hosts whose homes this home links to
	entries  []anchor             // special pages this home links to
	special  map[string]*resource // by path and query
	datasets []Dataset
}

func newSite(w *Web, i int, b Behavior) *site {
	s := &site{web: w, index: i, name: cmp.Or(b.Name, hostName(i, w.cfg.Domain)), b: b, pages: w.cfg.PagesPerHost, special: map[string]*resource{}}
	s.upper = strings.ToUpper(s.name)
	for _, line := range b.Header {
		s.header += line + "\r\n"
	}
	if b.Pages != 0 {
		s.pages = max(b.Pages, 1)
	}
	s.fan = min(max((w.cfg.LinksPerPage-w.cfg.CrossLinks)/2, 1), 8)
	s.rare = prose.RareWord(w.cfg.Seed, i)
	r := prose.Mix(uint64(w.cfg.Seed), 'R', uint64(i))
	for k := range s.rarePages {
		s.rarePages[k] = r.Intn(s.pages)
	}
	for k := 2; k > 0; k-- { // sorted, so that equal ones are neighbours
		for j := range k {
			if s.rarePages[j] > s.rarePages[j+1] {
				s.rarePages[j], s.rarePages[j+1] = s.rarePages[j+1], s.rarePages[j]
			}
		}
	}
	return s
}

// peer is the other host of a redirected robots.txt or a mirror: Behavior.Peer, or the next one
// with a steady file. It is nil if there is none.
func (s *site) peer() *site {
	n := len(s.web.sites)
	for i := range n {
		if p := s.web.sites[((s.b.Peer+i)%n+n)%n]; p != s && p.b.Robots.steady() {
			return p
		}
	}
	return nil
}

func (s *site) url(path string) string { return "http://" + s.name + path }

// sections are the directories of numbered pages.
var sections = []string{"guide", "notes", "archive", "garden", "atlas", "letters", "workshop", "history"}

func section(page int) string { return sections[page%len(sections)] }

// hasQuery: some pages have a query, so that links to them contain an escaped ampersand.
func hasQuery(page int) bool { return page%17 == 3 } // never the home

const pageQuery = "?lang=en&view=full"

// path is the path of a numbered page; pageAt is its inverse.
func (s *site) path(page int) string { return string(appendPath(nil, page)) }

func appendPath(b []byte, page int) []byte {
	if page == 0 {
		return append(b, '/')
	}
	b = append(append(append(b, '/'), section(page)...), "/p"...)
	b = append(strconv.AppendInt(b, int64(page), 10), ".html"...)
	if hasQuery(page) {
		b = append(b, pageQuery...)
	}
	return b
}

func (s *site) pageAt(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	if s.web.cfg.Undecoded {
		path = strings.ReplaceAll(path, "&amp;", "&")
	}
	_, rest, ok := strings.Cut(path, "/p")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n <= 0 || n >= s.pages || len(path) > 80 {
		return 0, false
	}
	var buf [96]byte
	return n, string(appendPath(buf[:0], n)) == path
}

// ref refers to a numbered page of some host.
type ref struct {
	site *site
	page int
}

// refs lists the links of a numbered page: its children in the tree, on home pages other hosts,
// then random pages.
func (s *site) refs(dst []ref, page int) []ref {
	left := s.web.cfg.LinksPerPage
	for c := page*s.fan + 1; c <= page*s.fan+s.fan && c < s.pages; c++ {
		dst = append(dst, ref{s, c})
		left--
	}
	if page == 0 {
		for _, child := range s.children {
			dst = append(dst, ref{child, 0})
		}
	}
	r := prose.Mix(uint64(s.web.cfg.Seed), 'l', uint64(s.index), uint64(page))
	for range s.web.cfg.CrossLinks {
		other := s.web.sites[r.Intn(len(s.web.sites))]
		dst = append(dst, ref{other, r.Intn(other.pages)})
		left--
	}
	for ; left > 0; left-- {
		dst = append(dst, ref{s, r.Intn(s.pages)})
	}
	return dst
}

// wait is how long this host waits before it answers a request for the path.
func (s *site) wait(path string) time.Duration {
	if s.b.Jitter <= 0 {
		return s.b.Latency
	}
	h := uint64(14695981039346656037)
	for i := range len(path) {
		h = (h ^ uint64(path[i])) * 1099511628211
	}
	r := prose.Mix(uint64(s.web.cfg.Seed), 'j', uint64(s.index), h)
	return s.b.Latency + time.Duration(r.Next()%uint64(s.b.Jitter))
}

// lookup finds what serves a path: a numbered page (res nil), a special one, or nothing.
func (s *site) lookup(path string) (page int, res *resource, ok bool) {
	if s.mirror != nil {
		return s.mirror.lookup(path)
	}
	if page, ok = s.pageAt(path); ok {
		return page, nil, true
	}
	if res = s.special[path]; res != nil {
		return 0, res, true
	}
	if res = s.trapAt(path); res != nil {
		return 0, res, true
	}
	return 0, nil, false
}
