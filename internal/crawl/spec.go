package crawl

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Spec is what a crawl is: kept in the crawl's KV bucket, read by every service, written by `curtsy crawl` and
// `curtsy seed`. Shards is fixed when the crawl is created; all else may change between runs.
type Spec struct {
	Name    string    `json:"name"`
	Shards  int       `json:"shards"`
	Created time.Time `json:"created"`

	Seeds   []string `json:"seeds"` // canonical
	Scope   string   `json:"scope"` // page, prefix, host, domain, any
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`

	MaxPages        int64         `json:"max_pages,omitempty"`          // pages stored in all; 0 = no limit
	MaxBytes        int64         `json:"max_bytes,omitempty"`          // body bytes read in all; 0 = no limit
	MaxDepth        int           `json:"max_depth"`                    // links from a seed; -1 = no limit
	MaxPagesPerHost int64         `json:"max_pages_per_host,omitempty"` // 0 = no limit
	HoldMax         time.Duration `json:"hold_max"`                     // URLs not due within this do not keep a crawl from being done

	Agent        string        `json:"agent"`             // product token
	Contact      string        `json:"contact,omitempty"` // mail address or URL; without one only private addresses are dialled
	Delay        time.Duration `json:"delay"`             // configured delay; 0 = none, for the hosts that may be hurried
	Hurry        []string      `json:"hurry,omitempty"`   // hosts the operator lists as his own: a delay under 1 s holds for them
	AllowPrivate bool          `json:"allow_private,omitempty"`
	Resolve      []string      `json:"resolve,omitempty"` // HOST=ADDR, *.suffix=ADDR
	Paused       bool          `json:"paused,omitempty"`
	Search       bool          `json:"search"`

	Sitemaps bool `json:"sitemaps,omitempty"` // read the sitemaps that sites offer
	Recrawl  bool `json:"recrawl,omitempty"`  // keep what is stored fresh: the crawl is never done
	// RecrawlMin is after how long a page is asked for again at the earliest, but for a second look at what seems gone, after an hour at
	// most, and at what may differ each time. 0: DefaultRecrawlMin.
	RecrawlMin time.Duration `json:"recrawl_min,omitempty"`
	RecrawlMax time.Duration `json:"recrawl_max,omitempty"` // and so long at the latest; 0: DefaultRecrawlMax
	// Updates has sites that publish /rupinfo.txt asked what changed (protocols §6), while Recrawl is set: else nothing would come of it.
	Updates        bool   `json:"updates,omitempty"`
	UpdatesMail    string `json:"updates_mail,omitempty"`    // reports may be mailed to addresses made of this one; "": none are, and sites are polled
	UpdatesLatency string `json:"updates_latency,omitempty"` // day, week or month, chosen where it is offered; "": the shortest that is
	// UpdatesOff are sites ("https://a.example") that are not to tell, and UpdatesPrefer the latencies chosen for single ones.
	UpdatesOff    []string          `json:"updates_off,omitempty"`
	UpdatesPrefer map[string]string `json:"updates_prefer,omitempty"`
	// Forgotten are hosts ("d.example") and URL prefixes that `curtsy forget` took out: never fetched, kept, or shown.
	Forgotten []string `json:"forgotten,omitempty"`
}

// The bounds of the re-crawl interval unless the spec says otherwise.
const (
	DefaultRecrawlMin = time.Hour
	DefaultRecrawlMax = 30 * 24 * time.Hour
)

// ScopeText changes with what decides whether a link belongs to the crawl.
func (s *Spec) ScopeText() string {
	return fmt.Sprintf("%s|%q|%q|%q", s.Scope, slices.Sorted(slices.Values(s.Seeds)), s.Include, s.Exclude)
}

// ScopeHash stands for ScopeText in messages; never 0.
func (s *Spec) ScopeHash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(s.ScopeText())) // never fails
	return max(h.Sum64(), 1)
}
