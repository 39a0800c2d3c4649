package crawl

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Spec is what a crawl is: kept in the crawl's KV bucket, read by every service, written by
// `curtsy crawl` and `curtsy seed`. Shards is fixed when the crawl is created; all else may
// change between runs.
type Spec struct {
	Name    string    `json:"name"`
	Shards  int       `json:"shards"`
	Created time.Time `json:"created"`

	Seeds   []string `json:"seeds"` // canonical
	Scope   string   `json:"scope"` // page, prefix, host, subdomains, domain, any, or *.NAME
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// NoLinks has the links of pages not followed: what is crawled is what seeds, sitemaps and
	// other lists of a site's own name, and where those redirect to.
	NoLinks bool `json:"no_links,omitempty"`

	// PlanOnly: no page is asked for, only what says which pages there are and which of them may be
	// asked for (`curtsy plan`). What would be asked for is refused, with ReasonPlanned.
	PlanOnly bool `json:"plan_only,omitempty"`

	// Pages stored in all; 0 = no limit.
	MaxPages int64 `json:"max_pages,omitempty"`
	// Body bytes read in all; 0 = no limit.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// Links from a seed; -1 = no limit.
	MaxDepth        int   `json:"max_depth"`
	MaxPagesPerHost int64 `json:"max_pages_per_host,omitempty"` // 0 = no limit
	// Names of a registered domain, beside one for each page stored of it; 0: DefaultMaxHosts.
	MaxHosts int64 `json:"max_hosts,omitempty"`
	// URLs not due within this do not keep a crawl from being done
	HoldMax time.Duration `json:"hold_max"`

	Agent string `json:"agent"` // product token
	// Mail address or URL; without one only private addresses are dialled.
	Contact string `json:"contact,omitempty"`
	// Configured delay; 0 = none, for the hosts that may be hurried.
	Delay time.Duration `json:"delay"`
	// Hosts the operator lists as his own: a delay under 1 s holds for them.
	Hurry        []string `json:"hurry,omitempty"`
	AllowPrivate bool     `json:"allow_private,omitempty"`
	Resolve      []string `json:"resolve,omitempty"` // HOST=ADDR, *.suffix=ADDR
	Paused       bool     `json:"paused,omitempty"`
	// Hosts are the operator's own words on single hosts; see WithHost.
	Hosts  map[canon.Host]HostRule `json:"hosts,omitempty"`
	Search bool                    `json:"search"`

	Sitemaps bool `json:"sitemaps,omitempty"` // read the sitemaps that sites offer
	Recrawl  bool `json:"recrawl,omitempty"`  // keep what is stored fresh: the crawl is never done
	// RecrawlMin is after how long a page is asked for again at the earliest, but for a
	// second look at what seems gone, after an hour at most, and at what may differ each
	// time. 0: DefaultRecrawlMin.
	RecrawlMin time.Duration `json:"recrawl_min,omitempty"`
	// And so long at the latest; 0: DefaultRecrawlMax.
	RecrawlMax time.Duration `json:"recrawl_max,omitempty"`
	// Every has the crawl gone over in rounds: all that is done is looked at again when the next
	// begins, so long after the one before; 0: there are none. It and Recrawl exclude each other.
	Every time.Duration `json:"every,omitempty"`
	// EverySince is when the first round began.
	EverySince time.Time `json:"every_since,omitzero"`
	// Updates has sites that publish /rupinfo.txt asked what changed (formats §6), while Recrawl
	// is set: else nothing would come of it.
	Updates bool `json:"updates,omitempty"`
	// Reports may be mailed to addresses made of this one; "": none are, and sites are polled.
	UpdatesMail string `json:"updates_mail,omitempty"`
	// Day, week or month, chosen where it is offered; "": the shortest that is.
	UpdatesLatency string `json:"updates_latency,omitempty"`
	// UpdatesOff are sites ("https://a.example") that are not to tell, and UpdatesPrefer the
	// latencies chosen for single ones.
	UpdatesOff    []string          `json:"updates_off,omitempty"`
	UpdatesPrefer map[string]string `json:"updates_prefer,omitempty"`
	// Feeds has the feeds that pages announce read again and again, while Recrawl is set.
	Feeds bool `json:"feeds,omitempty"`
	// UpdatesWebSub is the public URL by which hubs reach us; "": none is subscribed at.
	UpdatesWebSub string `json:"updates_websub,omitempty"`
	// Purposes are what pages are fetched for (usage.Purpose); none: search. What a site forbids
	// all of them is not asked for, or not kept.
	Purposes []string `json:"purposes,omitempty"`
	// Types are the words for what is kept (TypeSet); none: html and text.
	Types []string `json:"types,omitempty"`
	// DataJSON has each origin that is asked for its /data.txt asked for its /data.json as well.
	DataJSON bool `json:"data_json,omitempty"`
	// SecurityTxt has each origin asked for its security.txt.
	SecurityTxt bool `json:"security_txt,omitempty"`
	// AcceptMarkdown has pages asked for as Markdown where a site has them so.
	AcceptMarkdown bool `json:"accept_markdown,omitempty"`
	// LLMSTxt has each origin asked for its llms.txt, whose links are followed.
	LLMSTxt bool `json:"llms_txt,omitempty"`
	// WARC is the directory, on the machine of each indexer, into which what goes over the wire is
	// archived; "": nothing is.
	WARC string `json:"warc,omitempty"`
	// Forgotten are hosts ("d.example") and URL prefixes that `curtsy forget` took out: never
	// fetched, kept, or shown.
	Forgotten []string `json:"forgotten,omitempty"`
	// Reindex is when `curtsy reindex` was last typed beside the crawl, in RFC 3339. A shard whose
	// search index bears another mark builds it anew.
	Reindex string `json:"reindex,omitempty"`
}

// DefaultMaxHosts is how many names of one registered domain are taken in unless the spec says
// otherwise, beside one for each page stored of it.
const DefaultMaxHosts = 1000

// The bounds of the re-crawl interval unless the spec says otherwise.
const (
	DefaultRecrawlMin = time.Hour
	DefaultRecrawlMax = 30 * 24 * time.Hour
)

// PurposeSet is what pages are fetched for. A word that this version does not know stands for
// nothing: what it would let in is not let in.
func (s *Spec) PurposeSet() (set usage.Purposes) {
	for _, name := range s.Purposes {
		if p, err := usage.ParsePurpose(name); err == nil {
			set |= usage.PurposesOf(p)
		}
	}
	if set == 0 {
		return usage.PurposesOf(usage.Search)
	}
	return set
}

// ReadsFeeds reports whether the feeds that pages announce are read: what they name is a link
// further from a seed than the page.
func (s *Spec) ReadsFeeds() bool {
	return s.Feeds && s.Recrawl && s.MaxDepth != 0 && s.Scope != "page"
}

// ScopeText changes with what decides whether a link belongs to the crawl.
func (s *Spec) ScopeText() string {
	return fmt.Sprintf("%s|%q|%q|%q", s.Scope, slices.Sorted(slices.Values(s.Seeds)), s.Include, s.Exclude)
}

// ScopeHash stands for ScopeText in messages; never 0.
func (s *Spec) ScopeHash() uint64 { return hashOf(s.ScopeText()) }

// LinkText changes with what decides whether a link on a page is followed: the scope, and whether
// any is.
func (s *Spec) LinkText() string {
	if s.NoLinks {
		return s.ScopeText() + "|none"
	}
	return s.ScopeText()
}

// LinkHash stands for LinkText in messages; never 0.
func (s *Spec) LinkHash() uint64 { return hashOf(s.LinkText()) }

func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return max(h.Sum64(), 1)
}
