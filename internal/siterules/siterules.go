package siterules

import (
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Rules are the rules of a file, checked and compiled. They never change, and may be used
// concurrently. Nil has no rules.
type Rules struct {
	hash uint64
}

// Parse reads the text of a file. Name is that of the file, for messages. An error lists the
// mistakes, each with its line and column and what would be accepted.
func Parse(name, text string) (*Rules, error) { return &Rules{}, nil }

// Hash is the Spec.SitesHash of the rules, 0 if there are none.
func (r *Rules) Hash() uint64 { return 0 }

// For returns the rules of a URL, nil if no entry is about it.
func (r *Rules) For(u canon.URL) *Site { return nil }

// Schema returns all fields of all entries, in the order of their names.
func (r *Rules) Schema() []FieldInfo { return nil }

// FieldInfo describes a field. Its type is the same in all entries.
type FieldInfo struct {
	Name string
	Type crawl.FieldType
	Many bool // in one entry at least
}

// Seeds returns the URLs that all entries add to the seeds of the crawl.
func (r *Rules) Seeds() []canon.URL { return nil }

// Sitemaps returns the sitemaps that all entries name.
func (r *Rules) Sitemaps() []canon.URL { return nil }

// Site are the rules of a URL, taken from all entries that are about it. It must not be changed.
type Site struct {
	// Delay, Hours and MaxPages are about a host, so only entries without a path have them.
	Delay    time.Duration // the least delay; 0: none is stated
	Hours    string        // in the form of --hours; empty: always
	MaxPages int64         // stored pages of the host; 0: as the crawl says
	MaxDepth *int          // nil: as the crawl says
	Types    []string      // words of --types; nil: as the crawl says
	Purposes []string      // words of --purpose; nil: as the crawl says
	// Subdomains widens the scope by all names below this one.
	Subdomains bool
}

// Scope decides whether a URL belongs to the crawl as far as the entries say so. Why names the entry,
// its line and the glob or expression.
func (s *Site) Scope(u canon.URL) (in bool, why string) { return true, "" }

// Input is a page as its rules see it.
type Input struct {
	URL         canon.URL
	ContentType string
	Charset     string
	Header      http.Header // may be nil: then fields from headers keep what Earlier has
	Body        []byte      // decoded from its content coding, in its charset
	Earlier     crawl.Fields
}

// Output is what the rules make of a page.
type Output struct {
	Ruled crawl.Ruled
	// Skip says that the page is not wanted. Why names the entry and its line.
	Skip bool
	Why  string
	// Missing are required fields without a value, and Empty all fields without one.
	Missing, Empty []string
}

// ReadsPages reports whether Read makes anything of a page.
func (s *Site) ReadsPages() bool { return false }

// Read applies the rules to a page. Hostile pages cost bounded time and memory, and never panic.
func (s *Site) Read(in Input) Output { return Output{} }

// HasContent reports whether Content changes a page.
func (s *Site) HasContent() bool { return false }

// Content returns the page as it is to be read by people and search: without what is dropped, and
// only the main part if the rules name one and the page has it. The result is HTML in UTF-8. It
// returns the body itself if nothing changes; changed reports whether something did.
func (s *Site) Content(contentType, charset string, body []byte) (out []byte, changed bool) {
	return body, false
}
