package siterules

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Site are the rules of a URL, taken from all entries that are about it. It must not be changed.
// It may be used concurrently.
type Site struct {
	// Delay, Hours and MaxPages are about a host, so only entries without a path have them.
	Delay    time.Duration // the least delay; 0: none is stated
	Hours    string        // in the form of --hours; empty: always
	MaxPages int64         // stored pages of the host; 0: as the crawl says
	MaxDepth *int          // nil: as the crawl says
	Types    []string      // words of --types; nil: as the crawl says
	Purposes []string      // words of --purpose; nil: as the crawl says
	Render   string        // a word of --render; empty: as the crawl says
	// Subdomains widens the scope by all names below this one.
	Subdomains bool

	rules              *Rules
	entry              *entry // the most specific one
	include, exclude   []*pattern
	includes           *entry // that has include
	seeds, sitemaps    []canon.URL
	fields             []*field // in the order of their names
	main, drop         []*selector
	title, description *field
	skip               []*condition
}

// Scope decides whether a URL belongs to the crawl as far as the entries say so. Why names the
// entry, its line and the glob or expression.
func (s *Site) Scope(u canon.URL) (in bool, why string) {
	if s == nil {
		return true, ""
	}
	for _, p := range s.exclude {
		if p.matches(u) {
			return false, fmt.Sprintf("%s:%d: exclude %s", s.rules.name, p.line, p.text)
		}
	}
	if s.includes == nil || len(s.include) == 0 {
		return true, ""
	}
	for _, p := range s.include {
		if p.matches(u) {
			return true, fmt.Sprintf("%s:%d: include %s", s.rules.name, p.line, p.text)
		}
	}
	return false, fmt.Sprintf("%s:%d: no include of %s matches", s.rules.name, s.include[0].line, s.includes.text)
}
