package crawl

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Status is the accounting of a crawl, or of one shard. At any moment
// Discovered = Queued + InFlight + Stored + Redirected + Refused + Failed.
type Status struct {
	Discovered int64            `json:"discovered"`
	Queued     int64            `json:"queued"`
	InFlight   int64            `json:"in_flight"`
	Stored     int64            `json:"stored"`
	Redirected int64            `json:"redirected"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	ByReason   map[string]int64 `json:"by_reason"`
	// ETA is the estimated number of seconds until the queue is empty; nil means unknown.
	ETA *float64 `json:"eta_s"`
	// AtLeast is the same without the URLs that are still to be found. It is set instead of ETA
	// while the queue grows.
	AtLeast float64 `json:"eta_at_least_s,omitempty"`
	// Bottleneck is what the end waits for; nil if nothing is left, or nothing runs.
	Bottleneck *Bottleneck `json:"bottleneck,omitempty"`
	// Outlook is only in the part of a shard.
	Outlook *Outlook `json:"outlook,omitempty"`
	Rate    float64  `json:"rate"` // finished URLs per second in the last minute
	Bytes   int64    `json:"bytes"`
	Hosts   int64    `json:"hosts"`
	// Again is how many of the finished URLs will be fetched again (--recrawl, --every).
	Again     int64      `json:"again,omitempty"`
	NextAgain *time.Time `json:"next_again,omitempty"` // when the first of these is due
	Round     *Round     `json:"round,omitempty"`      // nil: the crawl has no rounds
	State     string     `json:"state"`                // running, paused, done, stopped
	// Trouble is why the crawl is paused although nobody paused it, and what to do.
	Trouble string `json:"trouble,omitempty"`
	// OpensAt is when requests are sent again (Spec.Hours); nil: they may be sent now.
	OpensAt *time.Time `json:"opens_at,omitempty"`
	// PagesTrouble is why pages cannot be stored at the moment, and what to do. Fetching continues
	// until the queue of pages is full.
	PagesTrouble string `json:"pages_trouble,omitempty"`
	// Postponed are the hosts whose URLs are not due within hold_max.
	Postponed []PostponedHost `json:"held,omitempty"`
	// PausedHosts and PausedURLs are the hosts that the operator has paused, and their queued URLs.
	PausedHosts int64 `json:"paused_hosts,omitempty"`
	PausedURLs  int64 `json:"paused_urls,omitempty"`

	// UsageHosts is how many hosts state in their robots.txt what their pages may be used for. Only
	// `curtsy status` fills it in.
	UsageHosts int64 `json:"usage_hosts,omitempty"`

	// Rendering counts the stored pages that need scripts.
	Rendering RenderingCounts `json:"rendering,omitzero"`

	// MobileRobots are the mobile robots that were sent; nil: none was.
	MobileRobots *MobileRobots `json:"mobile_robots,omitempty"`

	Limit  string        `json:"limit,omitempty"`  // the limit that ended the crawl
	Shards []ShardStatus `json:"shards,omitempty"` // for the done check of design §9.1
	// Indexers are the states of all indexers.
	Indexers []IndexerStatus `json:"indexers,omitempty"`
}

// RenderingCounts counts stored pages by their Rendering.
type RenderingCounts struct {
	Needed int64 `json:"needed,omitempty"`
	Done   int64 `json:"done,omitempty"`
	Failed int64 `json:"failed,omitempty"`
}

// Count adds n pages with this value of Rendering, or takes some out if n is negative. No count
// gets below zero: a file that an older version has written lacks some.
func (c *RenderingCounts) Count(r Rendering, n int64) {
	switch r {
	case RenderingNeeded:
		c.Needed = max(c.Needed+n, 0)
	case RenderingDone:
		c.Done = max(c.Done+n, 0)
	case RenderingFailed:
		c.Failed = max(c.Failed+n, 0)
	}
}

// Add adds the counts of another shard.
func (c *RenderingCounts) Add(o RenderingCounts) {
	c.Needed, c.Done, c.Failed = c.Needed+o.Needed, c.Done+o.Done, c.Failed+o.Failed
}

// PostponedHost is a host whose queued URLs will not be fetched soon, with the reason.
type PostponedHost struct {
	Host   string    `json:"host"`
	Queued int64     `json:"queued"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// ShardStatus is the state of one shard. The done check of design §9.1 uses it.
type ShardStatus struct {
	Shard       int    `json:"shard"`
	Epoch       uint64 `json:"epoch"`
	Owner       string `json:"owner"`
	Applied     uint64 `json:"applied"`     // sequence number of the last applied event
	Outstanding int    `json:"outstanding"` // visits without a final outcome
	Outbox      int    `json:"outbox"`
	Aux         int    `json:"errands"`  // auxiliary requests without an answer
	DueSoon     int64  `json:"due_soon"` // URLs due within hold_max
	// Paused: its current spec pauses the crawl.
	Paused bool `json:"paused,omitempty"`
	// Forgotten identifies the Spec.Forgotten that it uses (Spec.ForgottenText).
	Forgotten string `json:"forgotten,omitempty"`
	// Forgetting: not all URLs have been checked against a changed Spec.Forgotten yet.
	Forgetting bool `json:"forgetting,omitempty"`
	// Retrying: not all URLs that are to be tried again are queued yet.
	Retrying bool `json:"retrying,omitempty"`
	// Passing: a changed setting, or a loss of pages, has not been applied to all records yet.
	Passing bool `json:"passing,omitempty"`
	// Sites identifies the site rules that it uses (Spec.SitesHash).
	Sites uint64 `json:"sites,omitempty"`
	// SitesQueued and SitesRefused count the URLs that were queued, or refused, by the passes since
	// it has used them.
	SitesQueued  int64 `json:"sites_queued,omitempty"`
	SitesRefused int64 `json:"sites_refused,omitempty"`
	// Judging: a changed setting has not been applied to all URLs yet.
	Judging bool `json:"judging,omitempty"`
}

// IndexerStatus is the state of an indexer and its shards.
type IndexerStatus struct {
	Instance string `json:"instance,omitempty"` // empty for a stopped crawl
	// DiskFree and DiskTotal are those of the disk with its files, in bytes; 0 means not known.
	DiskFree  int64 `json:"disk_free,omitempty"`
	DiskTotal int64 `json:"disk_total,omitempty"`

	Shards  []int `json:"shards"`
	Pages   int64 `json:"pages"`   // stored pages
	Bytes   int64 `json:"bytes"`   // of these pages, decoded
	Pending int64 `json:"pending"` // pages that were received and are not stored yet
	Behind  int64 `json:"behind"`  // changes of pages that are not indexed yet
	// Types counts the indexed pages by type (the words of --types, or other). The counts are a
	// little old. It is empty while search is off.
	Types map[string]int64 `json:"types,omitempty"`
	// Langs counts them by language, as declared or detected. PageLangNone is an unknown language.
	Langs map[string]int64 `json:"langs,omitempty"`
	// WARCFiles and WARCBytes are the size of its archive. They are ten seconds old at most.
	WARCFiles int64 `json:"warc_files,omitempty"`
	WARCBytes int64 `json:"warc_bytes,omitempty"`
	// Forgotten identifies the Spec.Forgotten whose pages are hidden (Spec.ForgottenText).
	// Forgetting: not all of these pages are deleted yet.
	Forgotten  string `json:"forgotten,omitempty"`
	Forgetting bool   `json:"forgetting,omitempty"`
	// These count what takedowns have removed from the archive since the process began: records,
	// and links in the metadata of other pages. ArchiveFiles is how many files were rewritten.
	ArchiveRecords  int64 `json:"archive_records,omitempty"`
	ArchiveOutlinks int64 `json:"archive_outlinks,omitempty"`
	ArchiveFiles    int64 `json:"archive_files,omitempty"`
	// Paused is why nothing is stored at the moment, and what to do: there is too little disk
	// space.
	Paused string `json:"paused,omitempty"`
	// Indexes are the states of the search indexes. It is empty before the first Spec.Reindex.
	Indexes []IndexBuild `json:"indexes,omitempty"`
	// Rules says how far the site rules were applied to stored pages. It is empty if the crawl
	// never had rules.
	Rules []RulesApplied `json:"rules,omitempty"`
	// Datasets identifies the state of the stored claims about datasets. While it and Forgotten are
	// the same, the answer about datasets is the same, except for claims that expire.
	Datasets []string `json:"datasets,omitempty"`
}

// RulesApplied is how far site rules were applied to the pages that a shard had stored when the
// rules changed.
type RulesApplied struct {
	Shard    int    `json:"shard"`
	Rules    uint64 `json:"rules"`    // their Spec.SitesHash
	Finished bool   `json:"finished"` // all pages were passed
	Pages    int64  `json:"pages"`    // pages that were passed
	Read     int64  `json:"read"`     // of these, pages that were read by the rules
	Changed  int64  `json:"changed"`  // of these, pages of which something is different now
	Skipped  int64  `json:"skipped"`  // of these, pages that were deleted
}

// RulesMade is what site rules made of the pages of a RulesApplied.
type RulesMade struct {
	RulesApplied
	Fields []FieldCount `json:"fields,omitempty"` // in the order of their names
	// Links is the Spec.LinkHash under which the links of the stored pages were submitted.
	Links uint64 `json:"links,omitempty"`
}

// FieldCount counts the pages that a field of site rules is about. Skipped pages are not counted.
type FieldCount struct {
	Name  string `json:"name"`
	Pages int64  `json:"pages"`
	Empty int64  `json:"empty"` // of these, pages on which it has no value
}

// CountFields adds counts to others, by their names. Both are in the order of their names, and so
// is the result.
func CountFields(to, more []FieldCount) []FieldCount {
	for _, f := range more {
		i, had := slices.BinarySearchFunc(to, f.Name, func(c FieldCount, name string) int { return strings.Compare(c.Name, name) })
		if !had {
			to = slices.Insert(to, i, FieldCount{Name: f.Name})
		}
		to[i].Pages, to[i].Empty = to[i].Pages+f.Pages, to[i].Empty+f.Empty
	}
	return to
}

// IndexBuild is the progress of rebuilding the search index of a shard.
type IndexBuild struct {
	Shard   int    `json:"shard"`
	Mark    string `json:"mark"`              // the Spec.Reindex of the index in use
	Done    int64  `json:"done"`              // pages in the new index
	Left    int64  `json:"left"`              // pages that are not in it yet
	Trouble string `json:"trouble,omitempty"` // why the last attempt failed; there will be another
}

// Bottleneck is what the end of a crawl waits for.
type Bottleneck struct {
	Kind     string `json:"kind"`     // one of the Waits
	Sentence string `json:"sentence"` // for people, without a full stop
	// These are set for WaitsHost: the host that will be done last, its queue, the delay between
	// its requests, and the time that they take.
	Host   string  `json:"host,omitempty"`
	Queued int64   `json:"queued,omitempty"`
	DelayS float64 `json:"delay_s,omitempty"`
	LeftS  float64 `json:"left_s,omitempty"`
}

// The values of Bottleneck.Kind.
const (
	WaitsHost      = "host"    // the delay of one host
	WaitsMachine   = "machine" // slots, processor or network: the delays would allow more
	WaitsLimit     = "limit"   // --max-pages or --max-bytes is reached before the queue ends
	WaitsPostponed = "held"    // only postponed hosts are left
	WaitsPaused    = "paused"  // until somebody resumes it
	WaitsDisk      = "disk"    // until there is disk space
	WaitsHours     = "hours"   // until Spec.Hours permit requests
)

// Outlook describes the remaining work of a shard, so that the end of the crawl can be estimated.
// The Outlooks of shards add up.
type Outlook struct {
	Left     float64     `json:"left"`     // remaining requests of hosts that are not postponed
	Steps    []Speed     `json:"steps"`    // hosts by the time they take: up to 1 s, 2 s, 4 s, …
	Requests float64     `json:"requests"` // per second, in the last SpanS seconds
	SpanS    float64     `json:"span_s"`   // 30, or less at the beginning
	Last     *Bottleneck `json:"last,omitempty"`
	// GrowingS is the longest time of a host whose queue grows.
	GrowingS float64 `json:"growing_s,omitempty"`
}

// Speed is how many requests some hosts have left, and how many per second their delays allow.
type Speed struct {
	Left float64 `json:"left"`
	Pace float64 `json:"pace"`
}

// AddHost adds a host with left requests. Each request and the delay after it take each. wait is
// the additional time before the first one, and may be negative. AddHost returns how many seconds
// all requests take.
func (o *Outlook) AddHost(left float64, wait, each time.Duration) (seconds float64) {
	pace := 1 / max(each, time.Millisecond).Seconds()
	seconds = max(wait.Seconds()+left/pace, 0)
	i := max(int(math.Ceil(math.Log2(max(seconds, 1)))), 0)
	for len(o.Steps) <= i {
		o.Steps = append(o.Steps, Speed{})
	}
	o.Steps[i].Left += left
	o.Steps[i].Pace += pace
	o.Left += left
	return seconds
}

// Add adds the Outlook of another shard.
func (o *Outlook) Add(p *Outlook) {
	if p == nil {
		return
	}
	o.Left += p.Left
	for i, s := range p.Steps {
		if i == len(o.Steps) {
			o.Steps = append(o.Steps, Speed{})
		}
		o.Steps[i].Left += s.Left
		o.Steps[i].Pace += s.Pace
	}
	o.Requests += p.Requests
	o.SpanS = max(o.SpanS, p.SpanS)
	o.GrowingS = max(o.GrowingS, p.GrowingS)
	if p.Last != nil && (o.Last == nil || p.Last.LeftS > o.Last.LeftS) {
		o.Last = p.Last
	}
}

// Pace is how many requests per second all delays together allow now.
func (o *Outlook) Pace() (sum float64) {
	for _, s := range o.Steps {
		sum += s.Pace
	}
	return sum
}

// By is how many requests the delays allow in the next seconds. Hosts that are done send no more.
func (o *Outlook) By(seconds float64) (sum float64) {
	for _, s := range o.Steps {
		sum += min(s.Left, s.Pace*seconds)
	}
	return sum
}

// HistorySample is the accounting of a crawl, or of one of its shards, at a moment of its past.
// Queued is the number of waiting URLs, including those in flight. The other numbers usually only
// grow, so a rate is the difference of two samples. Fetches of known URLs can make them smaller.
type HistorySample struct {
	At         time.Time `json:"at"`
	Queued     int64     `json:"queued"`
	Stored     int64     `json:"stored"`
	Redirected int64     `json:"redirected"`
	Refused    int64     `json:"refused"`
	Failed     int64     `json:"failed"`
	Bytes      int64     `json:"bytes"`
	Requests   int64     `json:"requests"`         // sent to sites, of all kinds
	Silent     bool      `json:"silent,omitempty"` // nothing ran: the numbers are old
	// Order is the number of the last URL that the shard had accepted; 0 means not known. It is not
	// sent.
	Order uint64 `json:"-"`
}

// Add adds the sample of another shard for the same moment.
func (s *HistorySample) Add(o HistorySample) {
	s.Queued += o.Queued
	s.Stored += o.Stored
	s.Redirected += o.Redirected
	s.Refused += o.Refused
	s.Failed += o.Failed
	s.Bytes += o.Bytes
	s.Requests += o.Requests
}

// History is the past of a crawl: samples at equal distances, the oldest first. The last sample is
// the end, and may be nearer to the sample before it.
type History struct {
	Since   time.Time       `json:"since,omitzero"` // when the first of all samples was taken
	StepS   float64         `json:"step_s"`
	Samples []HistorySample `json:"samples"`
}

// HistoryRequest is the request of questions.History. It asks for the Span before a shard's last
// sample, with no more than one sample in a Step. Step is one of HistorySteps.
type HistoryRequest struct {
	Span time.Duration `json:"span"`
	Step time.Duration `json:"step"`
}

// HistoryPart has samples of one shard, at any distances. Between two samples the first one is
// valid. Further parts with the same Shard and Epoch continue it.
type HistoryPart struct {
	Shard   int             `json:"shard"`
	Epoch   uint64          `json:"epoch"`
	Since   time.Time       `json:"since,omitzero"`
	Samples []HistorySample `json:"samples"`
}

// HistorySteps are the possible distances of samples, the smallest first. A frontier thins out old
// samples by the same steps.
var HistorySteps = []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}
