package crawl

import "time"

// The types in this file are what services answer to questions and what `--json` prints: their keys are a contract.
// Durations are seconds, times RFC 3339.

// Status is the accounting of a crawl (or of one frontier's part of it; parts add up).
// Discovered = Queued + InFlight + Stored + Redirected + Refused + Failed at any instant.
type Status struct {
	Discovered int64            `json:"discovered"`
	Queued     int64            `json:"queued"`
	InFlight   int64            `json:"in_flight"`
	Stored     int64            `json:"stored"`
	Redirected int64            `json:"redirected"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	ByReason   map[string]int64 `json:"by_reason"`
	ETA        *float64         `json:"eta_s"` // seconds until the queue is worked off, from hosts, delays and queues; null = unknown
	Rate       float64          `json:"rate"`  // URLs finished a second, over the last half minute
	Bytes      int64            `json:"bytes"`
	Hosts      int64            `json:"hosts"`
	State      string           `json:"state"`            // running, paused, done, stopped
	Held       []HeldHost       `json:"held,omitempty"`   // hosts whose URLs are not due within hold_max
	Limit      string           `json:"limit,omitempty"`  // the limit that ended the crawl
	Shards     []ShardStatus    `json:"shards,omitempty"` // for §9.1 and for people
}

// HeldHost is a host that has URLs queued which will not be asked for soon, and why.
type HeldHost struct {
	Host   string    `json:"host"`
	Queued int64     `json:"queued"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// ShardStatus is what one shard's owner says of it; the done check of design §9.1 reads it.
type ShardStatus struct {
	Shard       int    `json:"shard"`
	Epoch       uint64 `json:"epoch"`
	Owner       string `json:"owner"`
	Applied     uint64 `json:"applied"`     // log sequence applied
	Outstanding int    `json:"outstanding"` // visits
	Outbox      int    `json:"outbox"`
	Errands     int    `json:"errands"`  // unanswered
	DueSoon     int64  `json:"due_soon"` // URLs due within hold_max
}

// HostInfo is one line of `curtsy hosts`.
type HostInfo struct {
	Host         string       `json:"host"`
	State        string       `json:"state"` // idle, due, visiting, waiting, held, robots-pending
	DelayS       float64      `json:"delay_s"`
	DelaySource  string       `json:"delay_source"` // default, configured, crawl-delay, backoff, retry-after
	Queued       int64        `json:"queued"`
	Fetched      int64        `json:"fetched"`
	Robots       []RobotsInfo `json:"robots_origins"`
	Robot        *RobotsInfo  `json:"robots"` // the origin most of its URLs have
	MirrorOf     *string      `json:"mirror_of"`
	AgentServers []AgentInfo  `json:"agent_servers"`
	Reason       string       `json:"reason,omitempty"` // why it is held
	NextDue      *time.Time   `json:"next_due,omitempty"`
	Shard        int          `json:"shard"`
}

// RobotsInfo is what is known of an origin's robots.txt.
type RobotsInfo struct {
	Origin    string     `json:"origin,omitempty"`
	State     string     `json:"state"` // unknown, parsed, unavailable, unreachable, pending
	FetchedAt *time.Time `json:"fetched_at"`
	Status    int        `json:"status,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	HostHint  string     `json:"host_hint,omitempty"` // the first correct Host line
	Claim     string     `json:"claim,omitempty"`     // what the Host lines say of this origin: self, or another origin
	DataTxt   string     `json:"data_txt,omitempty"`  // of /data.txt: read, absent, failed, refused, pending
}

// AgentInfo is one Mobile-agent-server record.
type AgentInfo struct {
	Path   string `json:"path"`
	Target string `json:"target"` // "none" when there is none
	Line   int    `json:"line,omitempty"`
}

// Explanation is the answer of `curtsy explain`.
type Explanation struct {
	URL            string         `json:"url"`
	Canonical      string         `json:"canonical"`
	InScope        bool           `json:"in_scope"`
	ScopeRule      string         `json:"scope_rule"`
	Robots         *ExplainRobots `json:"robots"`
	Seen           bool           `json:"seen"`
	FoundOn        *string        `json:"found_on"`
	Depth          *int           `json:"depth"`
	State          string         `json:"state"` // unknown, queued, in_flight, stored, …
	Reason         string         `json:"reason"`
	Detail         string         `json:"detail,omitempty"`
	Attempts       int            `json:"attempts"`
	NextDue        *time.Time     `json:"next_due"`
	NoIndex        bool           `json:"noindex"`
	SnippetAllowed *bool          `json:"snippet_allowed"`
	Status         int            `json:"status,omitempty"`
	Location       string         `json:"location,omitempty"`
	Visit          string         `json:"visit,omitempty"`
	AgentServer    *string        `json:"agent_server"`
}

// ExplainRobots is what robots.txt says of one URL.
type ExplainRobots struct {
	State     string     `json:"state"`
	Allowed   bool       `json:"allowed"`
	Line      int        `json:"line"`
	Rule      string     `json:"rule"` // when unreachable: what happened
	FetchedAt *time.Time `json:"fetched_at"`
	Status    int        `json:"status,omitempty"` // HTTP status of the last answer; 0: there was none
}

// PageInfo is one line of `curtsy pages`.
type PageInfo struct {
	URL            string    `json:"url"`
	Status         int       `json:"status"`
	FetchedAt      time.Time `json:"fetched_at"`
	ContentType    string    `json:"content_type"`
	Title          string    `json:"title"`
	Size           int64     `json:"size"`
	SHA256         string    `json:"sha256"` // hex, of the decoded body
	SnippetAllowed bool      `json:"snippet_allowed"`
	Depth          int       `json:"depth"`
	FoundOn        *string   `json:"found_on"` // null for a seed
	Truncated      bool      `json:"truncated,omitempty"`
}

// Hit is one line of `curtsy search`.
type Hit struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Snippet *string `json:"snippet,omitempty"` // absent where nosnippet
	Score   float64 `json:"score"`             // greater is better
}

// SearchAnswer says how far the search index of a part follows its page store.
type SearchAnswer struct {
	Hits   []Hit `json:"hits"`
	Behind int64 `json:"behind"` // page changes not yet indexed
}

// IndexerStatus is what an indexer says of its shards.
type IndexerStatus struct {
	Shards  []int `json:"shards"`
	Pages   int64 `json:"pages"`   // pages held
	Bytes   int64 `json:"bytes"`   // of them, decoded
	Pending int64 `json:"pending"` // pages handed over, not yet stored
	Behind  int64 `json:"behind"`  // page changes search has not seen
}

// DatasetInfo is one line of `curtsy datasets`: a record of a /data.txt.
type DatasetInfo struct {
	URLs        []string        `json:"urls"`
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	License     string          `json:"license"` // as the site writes it
	Type        string          `json:"type"`
	Rows        *int64          `json:"rows"`
	Cols        *int64          `json:"cols"`
	Columns     []DatasetColumn `json:"columns"`
	Source      string          `json:"source"`
	Extra       map[string]any  `json:"extra"`    // all other keys, as text, lists and objects
	Origin      string          `json:"origin"`   // whose /data.txt it is in
	DataTxt     string          `json:"data_txt"` // where that file was, after redirects
	Form        string          `json:"form"`     // records or yaml
	Line        int             `json:"line"`     // in that file
	External    bool            `json:"external"` // a URL is on another host, under that host's robots.txt alone
	Allowed     bool            `json:"allowed"`  // by the file's own rules; robots.txt is asked when it is fetched
	FetchedAt   time.Time       `json:"fetched_at"`
	Expires     time.Time       `json:"expires"`
}

// DatasetColumn describes one column of a table.
type DatasetColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
}
