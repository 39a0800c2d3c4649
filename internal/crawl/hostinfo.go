package crawl

import "time"

// HostInfo is one line of `curtsy hosts`.
type HostInfo struct {
	Host   string  `json:"host"`
	State  string  `json:"state"` // one of HostStates
	DelayS float64 `json:"delay_s"`
	// DelaySource is default, configured, site-rules, operator, crawl-delay, backoff, retry-after
	// or address.
	DelaySource  string       `json:"delay_source"`
	Queued       int64        `json:"queued"`
	Fetched      int64        `json:"fetched"`
	Robots       []RobotsInfo `json:"robots_origins"`
	Robot        *RobotsInfo  `json:"robots"` // of the origin with most URLs
	MirrorOf     *string      `json:"mirror_of"`
	AgentServers []AgentInfo  `json:"agent_servers"`
	Reason       string       `json:"reason,omitempty"` // why it is postponed, or waits
	NextDue      *time.Time   `json:"next_due,omitempty"`
	Shard        int          `json:"shard"`
	// Paused: the operator has paused it. OperatorDelayS is the smallest delay that the operator
	// allows.
	Paused         bool    `json:"paused,omitempty"`
	OperatorDelayS float64 `json:"operator_delay_s,omitempty"`

	Sitemaps []SitemapInfo `json:"sitemaps"` // on this host, at most 100

	// Dispatches are the mobile robots that are sent on behalf of its origins, one for each path
	// for which a robots.txt names a server that may be used.
	Dispatches []DispatchInfo `json:"dispatches,omitempty"`
}

// SitemapInfo is what is known of one sitemap.
type SitemapInfo struct {
	URL      string     `json:"url"`
	Origin   string     `json:"origin"` // whose robots.txt names it
	Queued   bool       `json:"queued"` // it is going to be read
	Status   int        `json:"status,omitempty"`
	Form     string     `json:"form,omitempty"` // urlset, index, text, feed
	Entries  int        `json:"entries"`
	Skipped  int        `json:"skipped"`
	ReadAt   *time.Time `json:"read_at"`
	Reason   string     `json:"reason,omitempty"`
	Requests int64      `json:"-"` // requests for it so far, for UpdatesInfo
}

// RobotsInfo is what is known of an origin's robots.txt.
type RobotsInfo struct {
	Origin    string     `json:"origin,omitempty"`
	State     string     `json:"state"` // unknown, parsed, unavailable, unreachable, pending
	FetchedAt *time.Time `json:"fetched_at"`
	Status    int        `json:"status,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	HostHint  string     `json:"host_hint,omitempty"` // the first correct Host line
	// Claim is what the Host lines name: self, or another origin.
	Claim string `json:"claim,omitempty"`
	// DataTxt is the state of /data.txt: read, absent, failed, refused or pending.
	DataTxt string `json:"data_txt,omitempty"`
	// Nested are the data.txt files of directories that it names.
	Nested   []NestedInfo `json:"data_txt_nested,omitempty"`
	MirrorOf string       `json:"mirror_of,omitempty"` // the origin it is a mirror of

	OriginFiles

	// Usage are the lines of the file about the use of the origin's pages, in the order of the
	// file. There are MaxUsageLines at most; UsageMore is the number of the others.
	Usage     []UsageLine `json:"usage,omitempty"`
	UsageMore int         `json:"usage_more,omitempty"`
}

// MaxUsageLines is the maximum length of RobotsInfo.Usage.
const MaxUsageLines = 32

// UsageLine is a line of a robots.txt about the use of pages: Content-Usage, Content-Signal or
// License, or a rule from which a preference is inferred (formats §8).
type UsageLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`           // as written, MaxDetail bytes at most
	Path string `json:"path,omitempty"` // of Content-Usage: the paths that it is about; empty: all
	// Preferences has allow or disallow for each purpose that the line is about. It is empty for a
	// License line, and for a line that cannot be read.
	Preferences map[string]string `json:"says,omitempty"`
	// Inferred: the line is a rule for robots that train models.
	Inferred bool `json:"inferred,omitempty"`
}

// NestedInfo is what is known of the data.txt of a directory.
type NestedInfo struct {
	URL    string `json:"url"`
	State  string `json:"state,omitempty"` // as RobotsInfo.DataTxt; empty: not requested yet
	Reason string `json:"reason,omitempty"`
}

// MirrorInfo is one line of `curtsy mirrors`: an origin that names a main mirror in its robots.txt,
// or was found to be another name of one.
type MirrorInfo struct {
	Host   string `json:"host"`
	Origin string `json:"origin"`
	// Main is the main mirror. Of an unconfirmed mirror it is what the origin names.
	Main  string `json:"main"`
	State string `json:"state"` // main, mirror, unconfirmed
	// Reason is set if State is unconfirmed: pending, target-unreachable, cycle, chain,
	// content-differs, no-evidence or out-of-scope.
	Reason   string    `json:"reason"`
	Detail   string    `json:"detail"`   // details of Reason, for people
	Evidence string    `json:"evidence"` // of mirror: robots.txt, pages 4/5, redirect, www 4/5
	Since    time.Time `json:"since"`
}

// UpdatesInfo is one line of `curtsy updates`: a site that reports its changes. It does not contain
// the key of a registration.
type UpdatesInfo struct {
	Site    string `json:"site"`    // its origin
	Source  string `json:"source"`  // rup, sitemap, feed, indexnow, websub
	Channel string `json:"channel"` // mail, poll, http, none
	// State is one of asking, registering, registered, recovering, polled, refused, unused,
	// unregistering, off, mirror; read, moved, gone; proved; subscribed.
	State        string         `json:"state"`
	Since        *time.Time     `json:"since,omitempty"`
	Latency      string         `json:"latency,omitempty"`        // day, week, month
	MaxQuerySpan string         `json:"max_query_span,omitempty"` // how far back it can report
	LastSequence uint64         `json:"last_sequence"`
	Missing      int64          `json:"missing"`  // reports that are missing now
	Gaps         int64          `json:"gaps"`     // all reports that were ever missing
	Recrawls     int64          `json:"recrawls"` // of the whole site, because reports were lost
	LastReport   *UpdatesReport `json:"last_report"`
	// Next is when it is asked again; nil means that it reports by itself.
	Next     *time.Time `json:"next,omitempty"`
	Reports  int64      `json:"reports"`
	Reported int64      `json:"told"` // URLs in them
	// Requests is how many requests the reports cost: for /rupinfo.txt and RUP-CGI, sitemaps,
	// feeds, key files and hubs. Fetches of reported pages are not among them.
	Requests int64 `json:"requests"`
	// Sooner is how many of the reported URLs were queued earlier because of it, or were new.
	Sooner int64 `json:"sooner"`
	// Looked is how many pages were fetched after the report of a change. Confirmed had changed,
	// and Wrong had not.
	Looked    int64 `json:"looked"`
	Confirmed int64 `json:"confirmed"`
	Wrong     int64 `json:"wrong"`
	// Distrusted: so many of its recent reports were wrong that they are ignored.
	Distrusted bool `json:"distrusted,omitempty"`
	// Strange counts reports that were rejected, and URLs of other sites in them.
	Strange int64  `json:"strange"`
	Reason  string `json:"reason,omitempty"`
}

// UpdatesReport is the last report of a site.
type UpdatesReport struct {
	Number  uint64    `json:"number"` // 0: it has no number
	At      time.Time `json:"at"`
	Entries int64     `json:"entries"`
	Refused int64     `json:"refused"`
}

// DispatchInfo is what is known of the mobile robots that are sent to one server for one path of an
// origin. It never contains the name of a run at the server.
type DispatchInfo struct {
	Origin string `json:"origin"`
	Path   string `json:"path"`           // below which the robot reads
	Server string `json:"server"`         // atp://host:port
	Line   int    `json:"line,omitempty"` // of the robots.txt; 0: it no longer names the server
	// State is waiting (none was sent yet), queued, running, verifying, or how the last one ended:
	// done, cut, failed or refused.
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Sent   int64      `json:"sent"`         // how many robots were sent so far
	At     *time.Time `json:"at,omitempty"` // when the last one was sent, or its last progress
	// Next is when the next one is due; nil: it is not known, or never.
	Next *time.Time `json:"next,omitempty"`

	// These are about the last one. Documents is what it listed. Pages were stored, Unchanged were
	// not sent because the stored copy is still valid, and Ignored may not be used.
	Documents     int64 `json:"documents"`
	Pages         int64 `json:"pages"`
	Unchanged     int64 `json:"unchanged"`
	Ignored       int64 `json:"ignored"`
	Requests      int   `json:"requests"` // to the server
	BytesSent     int64 `json:"bytes_sent"`
	BytesReceived int64 `json:"bytes_received"`

	// Sampled is how many of its pages are compared with those that the site serves. Confirmed were
	// the same. Unclear could not be compared, because the page differs each time or was changed.
	Sampled   int `json:"sampled"`
	Confirmed int `json:"confirmed"`
	Unclear   int `json:"unclear"`

	// DroppedUntil: the server is not used until then, because of DropReason.
	DroppedUntil *time.Time `json:"dropped_until,omitempty"`
	DropReason   string     `json:"drop_reason,omitempty"`
}

// MobileRobots counts the mobile robots of a crawl or of one shard.
type MobileRobots struct {
	Outstanding int   `json:"outstanding"` // queued or running
	Verifying   int   `json:"verifying"`   // ended, and some of their pages are being compared
	Sent        int64 `json:"sent"`        // how many were sent so far
	Pages       int64 `json:"pages"`       // that they brought
	Unchanged   int64 `json:"unchanged"`   // pages whose stored copy is still valid
	Received    int64 `json:"received"`    // bytes from servers
	Confirmed   int64 `json:"confirmed"`   // compared pages that were the same
	Dropped     int64 `json:"dropped"`     // servers that were dropped
}

// Add adds the counts of another shard.
func (m *MobileRobots) Add(o MobileRobots) {
	m.Outstanding += o.Outstanding
	m.Verifying += o.Verifying
	m.Sent += o.Sent
	m.Pages += o.Pages
	m.Unchanged += o.Unchanged
	m.Received += o.Received
	m.Confirmed += o.Confirmed
	m.Dropped += o.Dropped
}

// AgentInfo is one Mobile-agent-server record.
type AgentInfo struct {
	Path   string `json:"path"`
	Target string `json:"target"` // "none" if there is none
	Line   int    `json:"line,omitempty"`
}

// RobotsText is the stored copy of an origin's robots.txt, the source of the rules for the origin.
type RobotsText struct {
	Origin string `json:"origin"`
	Text   string `json:"text"` // its beginning, at most MaxRobotsText bytes
	Size   int    `json:"size"` // of the whole copy, in bytes
}

// MaxRobotsText limits RobotsText.Text, in bytes.
const MaxRobotsText = 64 << 10
