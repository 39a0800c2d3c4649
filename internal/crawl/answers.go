package crawl

import (
	"bytes"
	"time"
)

// The types in this file are what services answer to questions and what `--json` prints: their keys
// are a contract. Durations are seconds, times RFC 3339.

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
	// Seconds until the queue is worked off, from hosts, delays and queues; null = unknown.
	ETA *float64 `json:"eta_s"`
	// AtLeast is that without what is still to be found, while more is found than worked off.
	AtLeast float64 `json:"eta_at_least_s,omitempty"`
	// What the end waits for; nil when nothing is left, or nothing runs.
	Bottleneck *Bottleneck `json:"bottleneck,omitempty"`
	// Of a shard's part, before the parts are added up.
	Outlook *Outlook `json:"outlook,omitempty"`
	Rate    float64  `json:"rate"` // URLs finished a second, over the last minute
	Bytes   int64    `json:"bytes"`
	Hosts   int64    `json:"hosts"`
	// Of the URLs that are done, those that are asked for again (--recrawl, --every).
	Again     int64      `json:"again,omitempty"`
	NextAgain *time.Time `json:"next_again,omitempty"` // when the first of them is due
	Round     *Round     `json:"round,omitempty"`      // that it is in; nil: it has none
	State     string     `json:"state"`                // running, paused, done, stopped
	// Why it is paused although nobody asked for that, and what to do.
	Trouble string `json:"trouble,omitempty"`
	// PagesTrouble says why pages are not stored at the moment, and what to do. Fetching goes on
	// until their room in the queue is full.
	PagesTrouble string `json:"pages_trouble,omitempty"`
	// Hosts whose URLs are not due within hold_max.
	Postponed []PostponedHost `json:"held,omitempty"`
	// Hosts that the operator has paused, and the URLs that are queued with them.
	PausedHosts int64 `json:"paused_hosts,omitempty"`
	PausedURLs  int64 `json:"paused_urls,omitempty"`

	// UsageHosts is how many hosts say in their robots.txt what their pages may be used for. It is
	// counted for `curtsy status` alone.
	UsageHosts int64 `json:"usage_hosts,omitempty"`

	Limit  string        `json:"limit,omitempty"`  // the limit that ended the crawl
	Shards []ShardStatus `json:"shards,omitempty"` // for design §9.1 and for people
	// Who stores the pages, and how that goes.
	Indexers []IndexerStatus `json:"indexers,omitempty"`
}

// PostponedHost is a host that has URLs queued which will not be asked for soon, and why.
type PostponedHost struct {
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
	Aux         int    `json:"errands"`  // unanswered
	DueSoon     int64  `json:"due_soon"` // URLs due within hold_max
	// It goes by a spec that has the crawl paused.
	Paused bool `json:"paused,omitempty"`
	// By which Spec.Forgotten it goes (Spec.ForgottenText).
	Forgotten string `json:"forgotten,omitempty"`
	// What is forgotten, or let in again, is not all judged yet.
	Forgetting bool `json:"forgetting,omitempty"`
	// What is to be tried again is not all queued yet.
	Retrying bool `json:"retrying,omitempty"`
	// A changed setting, or a loss, has not been carried out everywhere yet.
	Passing bool `json:"passing,omitempty"`
}

// HostInfo is one line of `curtsy hosts`.
type HostInfo struct {
	Host   string  `json:"host"`
	State  string  `json:"state"` // one of HostStates
	DelayS float64 `json:"delay_s"`
	// Default, configured, operator, crawl-delay, backoff, retry-after, address.
	DelaySource  string       `json:"delay_source"`
	Queued       int64        `json:"queued"`
	Fetched      int64        `json:"fetched"`
	Robots       []RobotsInfo `json:"robots_origins"`
	Robot        *RobotsInfo  `json:"robots"` // the origin most of its URLs have
	MirrorOf     *string      `json:"mirror_of"`
	AgentServers []AgentInfo  `json:"agent_servers"`
	Reason       string       `json:"reason,omitempty"` // why it is held
	NextDue      *time.Time   `json:"next_due,omitempty"`
	Shard        int          `json:"shard"`
	// Paused: the operator has paused it, and OperatorDelayS is the least delay he has set.
	Paused         bool    `json:"paused,omitempty"`
	OperatorDelayS float64 `json:"operator_delay_s,omitempty"`

	Sitemaps []SitemapInfo `json:"sitemaps"` // on this host, at most 100 of them
}

// SitemapInfo is what is known of one sitemap.
type SitemapInfo struct {
	URL      string     `json:"url"`
	Origin   string     `json:"origin"` // whose robots.txt vouches for it
	Queued   bool       `json:"queued"` // it is to be read
	Status   int        `json:"status,omitempty"`
	Form     string     `json:"form,omitempty"` // urlset, index, text, feed
	Entries  int        `json:"entries"`
	Skipped  int        `json:"skipped"`
	ReadAt   *time.Time `json:"read_at"`
	Reason   string     `json:"reason,omitempty"`
	Requests int64      `json:"-"` // for it so far, for UpdatesInfo
}

// RobotsInfo is what is known of an origin's robots.txt.
type RobotsInfo struct {
	Origin    string     `json:"origin,omitempty"`
	State     string     `json:"state"` // unknown, parsed, unavailable, unreachable, pending
	FetchedAt *time.Time `json:"fetched_at"`
	Status    int        `json:"status,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	HostHint  string     `json:"host_hint,omitempty"` // the first correct Host line
	// What the Host lines say of this origin: self, or another origin.
	Claim string `json:"claim,omitempty"`
	// Of /data.txt: read, absent, failed, refused, pending.
	DataTxt string `json:"data_txt,omitempty"`
	// The data.txt files of directories that it led to.
	Nested   []NestedInfo `json:"data_txt_nested,omitempty"`
	MirrorOf string       `json:"mirror_of,omitempty"` // the origin it is a mirror of

	SecurityTxt *SecurityTxt `json:"security_txt,omitempty"` // once it was asked for
	LLMSTxt     *LLMSTxt     `json:"llms_txt,omitempty"`     // once it was asked for

	// What the file says to us of the use of the origin's pages, in file order: MaxUsageLines, and
	// how many more there are.
	Usage     []UsageLine `json:"usage,omitempty"`
	UsageMore int         `json:"usage_more,omitempty"`
}

// MaxUsageLines is how many lines about use are told of an origin's robots.txt.
const MaxUsageLines = 32

// UsageLine is a line of a robots.txt about the use of pages: Content-Usage, Content-Signal,
// License, or a rule from which a wish is inferred (formats §8).
type UsageLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`           // as written, MaxDetail bytes at most
	Path string `json:"path,omitempty"` // of Content-Usage: of which paths it speaks; empty: of all
	// Preferences has allow or disallow for each purpose that the line speaks of; empty for a
	// License line, and for one that cannot be read.
	Preferences map[string]string `json:"says,omitempty"`
	// Inferred from a rule for those who train models (formats §8.21).
	Inferred bool `json:"inferred,omitempty"`
}

// NestedInfo is what is known of the data.txt of a directory, which an origin's own led to.
type NestedInfo struct {
	URL    string `json:"url"`
	State  string `json:"state,omitempty"` // as RobotsInfo.DataTxt; empty: not asked for yet
	Reason string `json:"reason,omitempty"`
}

// MirrorInfo is one line of `curtsy mirrors`: an origin that names a main mirror in its robots.txt,
// or was found to be another name of one.
type MirrorInfo struct {
	Host   string `json:"host"`
	Origin string `json:"origin"`
	// The origin's own when it is main, what it names when unconfirmed.
	Main  string `json:"main"`
	State string `json:"state"` // main, mirror, unconfirmed
	// Of unconfirmed: pending, target-unreachable, cycle, chain, content-differs,
	// no-evidence, out-of-scope.
	Reason   string    `json:"reason"`
	Detail   string    `json:"detail"`   // more of that, for people
	Evidence string    `json:"evidence"` // of mirror: robots.txt, pages 4/5, redirect, www 4/5
	Since    time.Time `json:"since"`
}

// UpdatesInfo is one line of `curtsy updates`: a site that tells what changed on it. A
// registration's key is not among it.
type UpdatesInfo struct {
	Site    string `json:"site"`    // its origin
	Source  string `json:"source"`  // rup, sitemap, feed, indexnow, websub
	Channel string `json:"channel"` // mail, poll, http, none
	// Asking, registering, registered, recovering, polled, refused, unused,
	// unregistering, off, mirror; read, moved, gone; proved; subscribed.
	State        string         `json:"state"`
	Since        *time.Time     `json:"since,omitempty"`
	Latency      string         `json:"latency,omitempty"`        // day, week, month
	MaxQuerySpan string         `json:"max_query_span,omitempty"` // how far back it can tell
	LastSequence uint64         `json:"last_sequence"`
	Missing      int64          `json:"missing"`  // reports that are missing now
	Gaps         int64          `json:"gaps"`     // reports that were missing, in all
	Recrawls     int64          `json:"recrawls"` // full ones, since what changed could not be had
	LastReport   *UpdatesReport `json:"last_report"`
	// When it is asked for more, unless it tells by itself.
	Next     *time.Time `json:"next,omitempty"`
	Reports  int64      `json:"reports"`
	Reported int64      `json:"told"` // URLs in them
	// Requests are those that it cost to be told: of /rupinfo.txt and RUP-CGI, sitemaps, feeds, key
	// files, hubs. What was fetched because of it is Looked, and new pages.
	Requests int64 `json:"requests"`
	// Of them, those that were put first, or were new.
	Sooner int64 `json:"sooner"`
	// Pages that were asked for since it said they had changed.
	Looked    int64 `json:"looked"`
	Confirmed int64 `json:"confirmed"` // and had
	Wrong     int64 `json:"wrong"`     // and had not
	// Distrusted: so many of its hints were wrong lately that it is not believed.
	Distrusted bool `json:"distrusted,omitempty"`
	// Reports that are not believed, URLs that are not its own.
	Strange int64  `json:"strange"`
	Reason  string `json:"reason,omitempty"`
}

// UpdatesReport is the last report of a site.
type UpdatesReport struct {
	Number  uint64    `json:"number"` // 0: it has none
	At      time.Time `json:"at"`
	Entries int64     `json:"entries"`
	Refused int64     `json:"refused"`
}

// AgentInfo is one Mobile-agent-server record.
type AgentInfo struct {
	Path   string `json:"path"`
	Target string `json:"target"` // "none" when there is none
	Line   int    `json:"line,omitempty"`
}

// Explanation is the answer of `curtsy explain`.
type Explanation struct {
	URL       string         `json:"url"`
	Canonical string         `json:"canonical"`
	InScope   bool           `json:"in_scope"`
	ScopeRule string         `json:"scope_rule"`
	Robots    *ExplainRobots `json:"robots"`
	Seen      bool           `json:"seen"`
	FoundOn   *string        `json:"found_on"`
	Depth     *int           `json:"depth"`
	// When it was taken in: not before, and not after. Of each there is none where no sample of the
	// crawl's history tells.
	FoundAfter *time.Time `json:"found_after,omitempty"`
	FoundBy    *time.Time `json:"found_by,omitempty"`

	State    string     `json:"state"` // unknown, queued, in_flight, stored, …
	Reason   string     `json:"reason"`
	Detail   string     `json:"detail,omitempty"`
	Attempts int        `json:"attempts"`
	NextDue  *time.Time `json:"next_due"`
	// When it was answered last; nil: never.
	FetchedAt *time.Time `json:"fetched_at,omitempty"`
	// What became of it so far, the latest last, as far as the end of the crawl log tells: Explain
	// looks at a bounded part of it.
	Life           []LogLine `json:"life,omitempty"`
	NoIndex        bool      `json:"noindex"`
	SnippetAllowed *bool     `json:"snippet_allowed"`
	// Quoting is what limits the excerpts of a stored page; nothing: it may be quoted at length.
	Quoting []QuoteLimit `json:"quoting,omitempty"`
	// Usage is what a stored page carries: what its site said of its use when it was last asked for
	// it.
	Usage       *Usage  `json:"usage,omitempty"`
	Status      int     `json:"status,omitempty"`
	Location    string  `json:"location,omitempty"`
	Visit       string  `json:"visit,omitempty"`
	AgentServer *string `json:"agent_server"`
}

// ExplainRobots is what robots.txt says of one URL.
type ExplainRobots struct {
	State     string     `json:"state"`
	Allowed   bool       `json:"allowed"`
	Line      int        `json:"line"`
	Rule      string     `json:"rule"` // when unreachable: what happened
	FetchedAt *time.Time `json:"fetched_at"`
	// HTTP status of the last answer; 0: there was none
	Status int `json:"status,omitempty"`
	// Usage is what the file says of the use of the URL: of each purpose the strictest, and the
	// lines that say so. Nil where there is no file to say anything.
	Usage *Usage `json:"usage,omitempty"`
	// Licenses are the lines that name licence documents for it, 64 at most.
	Licenses []UsageLine `json:"licenses,omitempty"`
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
	// The most characters that it may be quoted with (max-snippet); 0: any number.
	MaxSnippet int     `json:"max_snippet,omitempty"`
	Depth      int     `json:"depth"`
	FoundOn    *string `json:"found_on"` // null for a seed
	Truncated  bool    `json:"truncated,omitempty"`
	// What the page calls its own address, if that is another one.
	Canonical string `json:"canonical,omitempty"`
	// Aliases are other addresses of this page: those of confirmed mirrors (formats §2.4). At
	// most a hundred are listed.
	Aliases []string `json:"aliases,omitempty"`
	// AliasOf is set where URL is such another address: of the page named here, which is
	// the one that is kept.
	AliasOf string `json:"alias_of,omitempty"`
	// Vary is what the answer said that it depends on, where Markdown was asked for as well.
	Vary  string `json:"vary,omitempty"`
	Usage Usage  `json:"usage"`
}

// PageRecord is a page as `curtsy export pages` writes it: what `curtsy pages` says of it, and its
// content as far as the page allows that it is shown.
type PageRecord struct {
	PageInfo
	Lang string `json:"lang,omitempty"` // ISO 639-1, as declared or detected
	// Of the page as it was fetched; what follows is UTF-8.
	Charset string `json:"charset,omitempty"`
	Text    string `json:"text,omitempty"` // what is visible of it
	HTML    string `json:"html,omitempty"` // the page itself; only where asked for
	// Its main text; only where asked for.
	Markdown string `json:"markdown,omitempty"`
	Cut      bool   `json:"cut,omitempty"` // Text, HTML or Markdown is the beginning only
	// Why there is no content: "nosnippet", "noarchive", "metadata", "alias", "unreadable", or
	// what is wrong with it.
	Withheld string `json:"withheld,omitempty"`
}

// PageRemoved is a line of an export of what changed: the page is no part of it any more.
type PageRemoved struct {
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetched_at"`
	// Why: a Reason, "unavailable_after", PageEmpty, or as in LeftOut.
	Removed string `json:"removed"`
}

// PageEmpty says of a page that it has no text any more, so that nothing of an earlier export in
// pieces holds.
const PageEmpty = "empty"

// PageRow is a row of an export of pages: a page, or, with Removed, that one is no part of it any
// more, as a PageRemoved says it.
type PageRow struct {
	PageRecord
	Removed string `json:"removed,omitempty"`
}

// LinkRow is a line of `curtsy export links`: a page leads to a URL. In an export of what changed a
// line without To says that what was known of the links from that page does not hold any more:
// those that it has now, if it is still part of the export, come after it.
type LinkRow struct {
	From    string `json:"from"`
	To      string `json:"to,omitempty"`
	Removed string `json:"removed,omitempty"` // LinksChanged, or as in PageRemoved
}

// PageLinks are all links of a page, as the export of links has them with the format "grouped".
// Removed is as in a LinkRow; a page that was stored anew comes with those that it has now.
type PageLinks struct {
	From    string   `json:"from"`
	To      []string `json:"to,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // there are more, for which a message has no room
	Removed string   `json:"removed,omitempty"`
}

// PagesGone counts in a LeftOut the pages that are no part of an export any more, where its format
// cannot name them.
const PagesGone = "gone"

// LinksChanged says of a page that it was stored anew since the time that an export goes back to.
const LinksChanged = "changed"

// PageChunk is a piece of a page's main text as `curtsy export pages --format chunks` writes it.
type PageChunk struct {
	URL   string `json:"url"`
	N     int    `json:"n"`  // from 1, in order of the page
	Of    int    `json:"of"` // how many pieces the page has
	Title string `json:"title,omitempty"`
	// Headings are what it stands under, outermost first; 200 bytes of each.
	Headings  []string  `json:"headings,omitempty"`
	Text      string    `json:"text,omitempty"` // Markdown
	Lang      string    `json:"lang,omitempty"`
	FetchedAt time.Time `json:"fetched_at"`
	SHA256    string    `json:"sha256,omitempty"` // of the page, as in PageInfo
	Usage     *Usage    `json:"usage,omitempty"`
}

// ExportQuery says what is exported, and as what.
type ExportQuery struct {
	What string `json:"what"` // pages or links
	// Format is, of pages, jsonl (rows with their text; also ""), markdown (rows with their main
	// text), source (rows with their HTML), chunks, text or html; of links jsonl.
	Format string `json:"format"`
	// ChunkSize, of chunks, is the most characters of one; 0: 2,000.
	ChunkSize int `json:"chunk_size,omitempty"`
	// Since, unless zero, leaves out pages that have not changed since then, by the clock of who
	// stores them; those that are gone come as PageRemoved. Not of pages as text and html.
	Since time.Time `json:"since,omitzero"`
	// For are purposes (usage.Purpose) that all must be allowed for a page, or its links, to be
	// exported: not disallowed, and, but for search, which needs no permission, not unknown either.
	For []string `json:"for,omitempty"`
	// UnknownToo lets through what nothing is said of.
	UnknownToo bool `json:"unknown_too,omitempty"`
}

// LeftOut ends an export: how many pages came without their content, or did not come, by what
// their sites asked for: "nosnippet" or "noarchive". What an asker does with it is his; it is no
// part of the export.
type LeftOut struct {
	Pages map[string]int64 `json:"left_out"`
	// Usage are pages that are no part of it for what their sites say of ExportQuery.For: by
	// purpose and value, "ai-train disallow".
	Usage map[string]int64 `json:"usage,omitempty"`
}

// Add counts what another part of the export left out.
func (l *LeftOut) Add(o LeftOut) {
	for why, n := range o.Pages {
		l.Pages[why] += n
	}
	for why, n := range o.Usage {
		if l.Usage == nil {
			l.Usage = map[string]int64{}
		}
		l.Usage[why] += n
	}
}

// IsLeftOut tells a LeftOut from the lines of an export.
func IsLeftOut(raw []byte) bool { return bytes.HasPrefix(raw, []byte(`{"left_out":`)) }

// IndexerStatus is what an indexer says of its shards.
type IndexerStatus struct {
	Instance string `json:"instance,omitempty"` // empty at rest
	// Of the disk that its files are on; 0: not known.
	DiskFree  int64 `json:"disk_free,omitempty"`
	DiskTotal int64 `json:"disk_total,omitempty"`

	Shards  []int `json:"shards"`
	Pages   int64 `json:"pages"`   // pages held
	Bytes   int64 `json:"bytes"`   // of them, decoded
	Pending int64 `json:"pending"` // pages handed over, not yet stored
	Behind  int64 `json:"behind"`  // page changes search has not seen
	// Of the pages that search has, how many are of each type (by the words of --types, or other),
	// as it was a short while ago. Empty while search is off.
	Types map[string]int64 `json:"types,omitempty"`
	// Langs is the same by language, as declared or detected; pages whose language nobody knows are
	// PageLangNone.
	Langs map[string]int64 `json:"langs,omitempty"`
	// WARC files of its shards, and bytes in them: as they were at most ten seconds ago.
	WARCFiles int64 `json:"warc_files,omitempty"`
	WARCBytes int64 `json:"warc_bytes,omitempty"`
	// Forgotten tells by which Spec.Forgotten nothing is shown (Spec.ForgottenText); Forgetting
	// that pages which are hidden by that may not all be deleted yet.
	Forgotten  string `json:"forgotten,omitempty"`
	Forgetting bool   `json:"forgetting,omitempty"`
	// Records that takedowns took out of the archive since the process began, lines of other pages'
	// metadata, and files that were written anew for it.
	ArchiveRecords  int64 `json:"archive_records,omitempty"`
	ArchiveOutlinks int64 `json:"archive_outlinks,omitempty"`
	ArchiveFiles    int64 `json:"archive_files,omitempty"`
	// Paused says why nothing is stored at the moment, and what to do: the disk
	// has too little room.
	Paused string `json:"paused,omitempty"`
	// Indexes tells of each shard's search index which Spec.Reindex it was built for. There is none
	// before the first.
	Indexes []IndexBuild `json:"indexes,omitempty"`
	// Datasets names the state of what is stored of datasets: while it and Forgotten are the same,
	// so is the answer to the question "datasets", but for what expires.
	Datasets []string `json:"datasets,omitempty"`
}

// IndexBuild is how far a shard is with building its search index anew.
type IndexBuild struct {
	Shard   int    `json:"shard"`
	Mark    string `json:"mark"`              // Spec.Reindex of the index that answers
	Done    int64  `json:"done"`              // pages in the new one, also when it answers
	Left    int64  `json:"left"`              // pages it has still to take
	Trouble string `json:"trouble,omitempty"` // why the last try failed; there will be another
}
