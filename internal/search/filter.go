package search

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/segment"
	"github.com/curtsy/curtsy/pkg/canon"
)

// filter decides which pages of a part a query may find.
type filter struct {
	p   *part
	f   *query.Filters
	now int64 // milliseconds since 1970
	// 1 by the number of each value that passes, and 0 by that of each other value. If the list is
	// nil, all values pass.
	hosts, langs, types []uint8
	byURL               bool // addresses must be compared
	before, after       int32
	fields              []*fieldCheck
	values              []uint32 // buffer of a page's values
	hide                []uint8  // by the number of a host; nil: none is hidden
	hidden              func(url string) bool
}

// Whether some or all pages of a host are hidden.
const (
	hideSome = 1 + iota
	hideAll
)

// hiding makes the filter leave out pages that must not be shown, so that they are not counted
// either.
func (x *filter) hiding(host func(canon.Host) (all, some bool), url func(string) bool) {
	if host == nil {
		return
	}
	x.hidden = url
	for n := range x.p.Values() {
		all, some := host(canon.Host(x.p.Value(n)))
		if (all || some) && x.hide == nil {
			x.hide = make([]uint8, x.p.Values())
		}
		switch {
		case all:
			x.hide[n] = hideAll
		case some:
			x.hide[n] = hideSome
		}
	}
}

func newFilter(p *part, f *query.Filters, now time.Time) *filter {
	x := &filter{p: p, f: f, now: now.UnixMilli(), before: day(f.Before), after: day(f.After)}
	x.byURL = len(f.InURL)+len(f.NotInURL) > 0
	for _, s := range append(slices.Clone(f.Sites), f.NotSites...) {
		x.byURL = x.byURL || strings.Contains(s, "/")
	}
	pick := func(want, not []string, is func(value, want string) bool) []uint8 {
		if len(want)+len(not) == 0 {
			return nil
		}
		pass := make([]uint8, p.Values())
		for n := range pass {
			v := p.Value(uint32(n))
			in := func(all []string) bool { return slices.ContainsFunc(all, func(w string) bool { return is(v, w) }) }
			if (len(want) == 0 || in(want)) && !in(not) {
				pass[n] = 1
			}
		}
		return pass
	}
	// A site with a path excludes only a part of a host, which url checks.
	hostsOf := func(sites []string, paths bool) (hosts []string) {
		for _, s := range sites {
			host, _, path := strings.Cut(s, "/")
			if paths || !path {
				hosts = append(hosts, host)
			}
		}
		return hosts
	}
	x.hosts = pick(hostsOf(f.Sites, true), hostsOf(f.NotSites, false), isSite)
	x.langs = pick(f.Langs, f.NotLangs, func(v, want string) bool { return v == want })
	x.types = pick(f.Types, f.NotTypes, isType)
	x.fields = fieldChecks(p, f.Fields)
	return x
}

func day(t time.Time) int32 {
	if t.IsZero() {
		return 0
	}
	return int32(t.Unix() / (24 * 3600))
}

// isSite reports whether a host, with its port if it has one, is site or below it.
func isSite(host, site string) bool {
	if !strings.Contains(site, ":") {
		if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
			host = host[:i]
		}
	}
	return host == site || strings.HasSuffix(host, "."+site)
}

// isType reports whether a media type is want, or has that short name: "html", "pdf", "plain".
func isType(v, want string) bool {
	if v == want {
		return true
	}
	_, sub, ok := strings.Cut(v, "/")
	return ok && !strings.Contains(want, "/") &&
		(sub == want || want == "html" && sub == "xhtml+xml" || want == "text" && v == "text/plain" || want == "txt" && v == "text/plain")
}

// pass reports whether a page may be found.
func (x *filter) pass(i uint32) bool {
	p := x.p
	if p.deleted(i) {
		return false
	}
	if e := p.Expires(i); e != 0 && e <= x.now {
		return false
	}
	if x.hosts != nil && x.hosts[p.Narrow(i, segment.Host)] == 0 ||
		x.langs != nil && x.langs[p.Narrow(i, segment.Lang)] == 0 ||
		x.types != nil && x.types[p.Narrow(i, segment.Type)] == 0 {
		return false
	}
	if x.hide != nil {
		how := x.hide[p.Narrow(i, segment.Host)]
		if how == hideAll || how == hideSome && x.hidden(string(p.URL(i))) {
			return false
		}
	}
	if x.before != 0 || x.after != 0 {
		d := p.Date(i)
		if d == 0 || x.before != 0 && d >= x.before || x.after != 0 && d < x.after {
			return false
		}
	}
	if len(x.fields) > 0 {
		x.values = p.PagesProperties(x.values[:0], i)
		for _, c := range x.fields {
			if !c.pass(x.values) {
				return false
			}
		}
	}
	return !x.byURL || x.url(string(p.URL(i)))
}

func (x *filter) url(u string) bool {
	low := strings.ToLower(u)
	for _, s := range x.f.InURL {
		if !strings.Contains(low, s) {
			return false
		}
	}
	for _, s := range x.f.NotInURL {
		if strings.Contains(low, s) {
			return false
		}
	}
	below := func(s string) bool { return inSite(u, s) }
	if len(x.f.Sites) > 0 && !slices.ContainsFunc(x.f.Sites, below) {
		return false
	}
	return !slices.ContainsFunc(x.f.NotSites, below)
}
