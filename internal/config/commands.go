package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// defaultDir is where a crawl keeps its data unless told otherwise.
const defaultDir = "./curtsy-data"

// Admin is the port on which a process shows itself to its operator.
type Admin struct {
	Listen string `key:"listen" group:"Output,common" usage:"serve the dashboard, /metrics, /livez, /readyz and /debug/pprof on ‹ADDR›, or off" example:"127.0.0.1:8080"`
}

func newAdmin() Admin { return Admin{Listen: "127.0.0.1:8080"} }

func (a Admin) check(src *Source) error {
	if a.Listen != "off" && !address(a.Listen) {
		return src.Refuse("listen", "is not an address with a port; use for example 127.0.0.1:8080, or off")
	}
	return nil
}

// address reports whether s is host:port, the host left out or not.
func address(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// Fetch is how hard one fetcher works and how much it takes from a site.
type Fetch struct {
	Visits  int  `key:"visits" group:"Limits,common" usage:"visit ‹N› hosts at the same time" example:"256"`
	MaxBody Size `key:"max-body" group:"Limits" usage:"keep at most this ‹SIZE› of a page" example:"10MiB"`
	// MaxCatalogue bounds a JSON catalogue of datasets, which is read as it comes.
	MaxCatalogue Size `key:"max-catalogue" group:"Limits" usage:"read at most this ‹SIZE› of a dataset catalogue (data.json, CKAN, JSON-LD)" example:"64MiB"`
	// PageMemory bounds the memory that all large pages together take while they are fetched. A
	// page that finds no room waits.
	PageMemory Size   `key:"page-memory" group:"Limits" usage:"use at most this ‹SIZE› of memory for large pages; further ones wait" example:"256MiB"`
	PDFToText  string `key:"pdftotext" group:"What is kept" usage:"read PDF files with the poppler program at ‹PATH› (empty: with the built-in reader)" example:"/usr/bin/pdftotext"`
}

// leastPageMemory is enough for a single large page.
const leastPageMemory = 32 << 20

// executable reports whether there is a program at a path from the root.
func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && filepath.IsAbs(path) && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

func newFetch() Fetch {
	return Fetch{Visits: 256, MaxBody: 10 << 20, MaxCatalogue: 64 << 20, PageMemory: 256 << 20}
}

func (f Fetch) check(src *Source) error {
	switch {
	case f.Visits < 1 || f.Visits > 10000:
		return src.Refuse("visits", "must be 1 to 10000; use for example 256")
	case f.MaxBody < 1<<10:
		return src.Refuse("max-body", "is under 1KiB; use for example 10MiB")
	case f.MaxCatalogue < 1<<20:
		return src.Refuse("max-catalogue", "is under 1MiB; use for example 64MiB")
	case f.PDFToText != "" && !executable(f.PDFToText):
		return src.Refuse("pdftotext", "is not a program; use for example /usr/bin/pdftotext from the Debian package poppler-utils")
	case f.PageMemory < leastPageMemory:
		return src.Refuse("page-memory", "is under 32MiB; use for example 256MiB")
	}
	return nil
}

// Crawl are the settings of `curtsy crawl`.
type Crawl struct {
	Dir     string `key:"dir" group:"Output,common" usage:"keep the crawl in ‹DIR›; the same directory resumes it" example:"./curtsy-data"`
	Seeds   string `key:"seeds" group:"Scope,common" usage:"read seeds from ‹FILE›, one URL a line (-: standard input)" example:"seeds.txt"`
	Plan    `key:",squash"`
	MaxTime time.Duration `key:"max-time" group:"Limits,common" usage:"stop this run after this ‹TIME› (0s: no limit)" example:"2h"`
	// Progress is one of ProgressModes.
	Progress   string `key:"progress" group:"Output,common" usage:"show progress as ‹FORM›: auto, plain, json or none" words:"auto plain json none" example:"plain"`
	Fetch      `key:",squash"`
	Sign       `key:",squash"`
	SiteAccess `key:",squash"`
	Traces     `key:",squash"`
	Disk       `key:",squash"`
	CrawlLog   `key:",squash"`
	Mail       `key:",squash"`
	Admin      `key:",squash"`
	Access     `key:",squash"`
	Common     `key:",squash"`
	NATS       `key:",squash"`
}

// ProgressModes are the forms in which `curtsy crawl` shows how it goes: one line that is redrawn
// in a terminal and a plain line each minute elsewhere, plain lines, JSON lines, nothing.
var ProgressModes = []string{"auto", "plain", "json", "none"}

// NewCrawl has the defaults of `curtsy crawl`.
func NewCrawl() *Crawl {
	return &Crawl{Common: newCommon(), NATS: newNATS(), Plan: newPlan(), Fetch: newFetch(), Sign: newSign(),
		CrawlLog: newCrawlLog(), Traces: newTraces(), Admin: newAdmin(), Dir: defaultDir, Progress: ProgressModes[0]}
}

func (c *Crawl) check(src *Source) error {
	if c.MaxTime < 0 {
		return src.Refuse("max-time", "is negative; use for example 2h, or 0s for no limit")
	}
	if !slices.Contains(ProgressModes, c.Progress) {
		return src.Refuse("progress", "is unknown; use "+orWords(ProgressModes))
	}
	if c.Dir == "" {
		return src.Refuse("dir", "is empty; use for example "+defaultDir)
	}
	return errors.Join(c.Common.check(src), c.NATS.check(src), c.Plan.check(src), c.Admin.check(src), c.Access.check(src), c.Fetch.check(src), c.Sign.check(src), c.SiteAccess.check(src), c.Traces.check(src), c.Disk.check(src), c.CrawlLog.check(src), c.Mail.check(src))
}

// Foresee are the settings of `curtsy plan`: those of a crawl that bear on which pages it asks for,
// and how fast.
type Foresee struct {
	Seeds      string `key:"seeds" group:"Scope,common" usage:"read seeds from ‹FILE›, one URL a line (-: standard input)" example:"seeds.txt"`
	Plan       `key:",squash"`
	Fetch      `key:",squash"`
	Sign       `key:",squash"`
	SiteAccess `key:",squash"`
	Common     `key:",squash"`
}

// NewForesee has the defaults of `curtsy plan`.
func NewForesee() *Foresee {
	return &Foresee{Common: newCommon(), Plan: newPlan(), Fetch: newFetch(), Sign: newSign()}
}

func (c *Foresee) check(src *Source) error {
	return errors.Join(c.Common.check(src), c.Plan.check(src), c.Fetch.check(src), c.Sign.check(src), c.SiteAccess.check(src))
}

// Seed are the settings of `curtsy seed`, which submits a crawl that daemons carry out.
type Seed struct {
	Dir    string `key:"dir" group:"Output,common" usage:"without --nats: add to the crawl that runs in ‹DIR›" example:"./curtsy-data"`
	Seeds  string `key:"seeds" group:"Scope,common" usage:"read seeds from ‹FILE›, one URL a line (-: standard input)" example:"seeds.txt"`
	Plan   `key:",squash"`
	Common `key:",squash"`
	NATS   `key:",squash"`
}

// NewSeed has the defaults of `curtsy seed`.
func NewSeed() *Seed {
	return &Seed{Common: newCommon(), NATS: newNATS(), Plan: newPlan(), Dir: defaultDir}
}

func (c *Seed) check(src *Source) error {
	return errors.Join(c.Common.check(src), c.NATS.check(src), c.Plan.check(src))
}

// Set are the settings of `curtsy set`: those of Plan that may change while a crawl runs, and
// where it is.
type Set struct {
	Dir             string        `key:"dir" group:"Output,common" usage:"change the crawl that runs in ‹DIR›" example:"./curtsy-data"`
	Scope           string        `key:"scope" group:"Scope,common" usage:"how far from the seeds to go: ‹WORD› is {}" choices:"page prefix host domain any" example:"domain"`
	Include         []string      `key:"include" group:"Scope,common" usage:"crawl only URLs that match one of these ‹REGEXP›s (repeatable; '' removes all)" example:"/docs/"`
	Exclude         []string      `key:"exclude" group:"Scope,common" usage:"crawl no URL that matches one of these ‹REGEXP›s (repeatable; '' removes all)" example:"[?&]print="`
	Links           bool          `key:"links" group:"Scope,common" usage:"follow the links of pages; with =false only seeds, sitemaps and other lists of a site's URLs are crawled"`
	MaxPages        int64         `key:"max-pages" group:"Limits,common" usage:"stop when ‹N› pages are stored (0: no limit)" example:"500"`
	MaxBytes        Size          `key:"max-bytes" group:"Limits,common" usage:"stop when this ‹SIZE› of page bodies was read (0: no limit)" example:"1GiB"`
	MaxDepth        int           `key:"max-depth" group:"Limits,common" usage:"follow at most ‹N› links in a row from a seed (0: only the seeds; -1: no limit)" example:"3"`
	MaxPagesPerHost int64         `key:"max-pages-per-host" group:"Limits,common" usage:"store at most ‹N› pages of each host (0: no limit)" example:"1000"`
	Delay           time.Duration `key:"delay" group:"Politeness,common" usage:"wait at least this ‹TIME› between a response of a host and the next request to it" example:"1s"`
	Common          `key:",squash"`
	NATS            `key:",squash"`
}

// NewSet has the defaults of `curtsy set`.
func NewSet() *Set {
	p := newPlan()
	return &Set{Common: newCommon(), NATS: newNATS(), Dir: defaultDir, Scope: p.Scope, Links: p.Links, MaxDepth: p.MaxDepth, Delay: p.Delay}
}

// plan is a plan with the settings of c, and the defaults of all others.
func (c *Set) plan() Plan {
	p := newPlan()
	p.Scope, p.Include, p.Exclude, p.Links = c.Scope, c.Include, c.Exclude, c.Links
	p.MaxPages, p.MaxBytes, p.MaxDepth, p.MaxPagesPerHost, p.Delay = c.MaxPages, c.MaxBytes, c.MaxDepth, c.MaxPagesPerHost, c.Delay
	return p
}

// Spec is old with what given reports as set replaced.
func (c *Set) Spec(old crawl.Spec, given func(key string) bool) crawl.Spec {
	return c.plan().Spec(&old, given)
}

// setKeys are the settings that `curtsy set` changes.
var setKeys = []string{"scope", "include", "exclude", "links", "max-pages", "max-bytes", "max-depth", "max-pages-per-host", "delay"}

// Any reports whether any setting is to be changed.
func (c *Set) Any(given func(key string) bool) bool { return slices.ContainsFunc(setKeys, given) }

func (c *Set) check(src *Source) error {
	return errors.Join(c.Common.check(src), c.NATS.check(src), c.plan().check(src))
}

// Reader are the settings of the commands that ask a crawl something, or steer it.
type Reader struct {
	Dir    string `key:"dir" group:"Output,common" usage:"use the crawl in ‹DIR›" example:"./curtsy-data"`
	Common `key:",squash"`
	NATS   `key:",squash"`
}

// NewReader has the defaults of the reading commands.
func NewReader() *Reader { return &Reader{Common: newCommon(), NATS: newNATS(), Dir: defaultDir} }

func (c *Reader) check(src *Source) error { return errors.Join(c.Common.check(src), c.NATS.check(src)) }

// Serve are the settings of `curtsy serve`.
type Serve struct {
	Dir string `key:"dir" group:"Output,common" usage:"use the crawl in ‹DIR›" example:"./curtsy-data"`
	// A setting of its own: the admin port of a crawl that runs may be off, or elsewhere.
	Listen string `key:"search-listen" flag:"listen" group:"Output,common" usage:"serve on ‹ADDR›" example:"127.0.0.1:7880"`
	// A port of its own: that of search is for everybody.
	Metrics string `key:"search-metrics" flag:"metrics" group:"Output,common" usage:"serve /metrics on ‹ADDR›, or off" example:"127.0.0.1:7881"`
	Common  `key:",squash"`
	NATS    `key:",squash"`
}

// NewServe has the defaults of `curtsy serve`.
func NewServe() *Serve {
	return &Serve{Common: newCommon(), NATS: newNATS(), Dir: defaultDir, Listen: "127.0.0.1:7880", Metrics: "off"}
}

func (c *Serve) check(src *Source) error {
	if !address(c.Listen) {
		return src.Refuse("search-listen", "is not an address with a port; use for example 127.0.0.1:7880")
	}
	if c.Metrics != "off" && !address(c.Metrics) {
		return src.Refuse("search-metrics", "is not an address with a port; use for example 127.0.0.1:7881, or off")
	}
	return errors.Join(c.Common.check(src), c.NATS.check(src))
}

// Demo are the settings of `curtsy demo`.
type Demo struct {
	Common `key:",squash"`
	Admin  `key:",squash"`
	Dir    string `key:"dir" group:"Output,common" usage:"keep the crawl in ‹DIR› (default: a temporary directory)" example:"./curtsy-data"`
}

// NewDemo has the defaults of `curtsy demo`.
func NewDemo() *Demo {
	return &Demo{Common: newCommon(), Admin: newAdmin()}
}

func (c *Demo) check(src *Source) error { return errors.Join(c.Common.check(src), c.Admin.check(src)) }

// Daemon are the settings that all daemons have.
type Daemon struct {
	Common   `key:",squash"`
	NATS     `key:",squash"`
	Admin    `key:",squash"`
	Traces   `key:",squash"`
	Instance string `key:"instance" group:"Cluster,common" usage:"‹NAME› of this process among those of its kind (default: host name and process number)" example:"frontier-1"`
}

func newDaemon() Daemon {
	return Daemon{Common: newCommon(), NATS: newNATS(), Admin: newAdmin(), Traces: newTraces()}
}

func (c *Daemon) check(src *Source) error {
	if c.URL == "" {
		return src.Refuse("nats", "is empty; a daemon needs a server, use for example --nats nats://127.0.0.1:4222")
	}
	if c.Instance != "" && crawlName(c.Instance) != nil {
		return src.Refuse("instance", "cannot name a process; use 1 to 32 letters, digits, '-' or '_', for example frontier-1")
	}
	return errors.Join(c.Common.check(src), c.NATS.check(src), c.Admin.check(src), c.Traces.check(src))
}

// Frontier are the settings of `curtsy frontier`.
type Frontier struct {
	Daemon     `key:",squash"`
	Disk       `key:",squash"`
	CrawlLog   `key:",squash"`
	Mail       `key:",squash"`
	Dir        string `key:"dir" group:"Output,common" usage:"keep the shards in ‹DIR›" example:"/var/lib/curtsy"`
	Checkpoint Size   `key:"checkpoint" group:"Cluster,common" usage:"copy the state of a shard to NATS whenever its log has grown by this ‹SIZE›" example:"64MiB"`
}

// NewFrontier has the defaults of `curtsy frontier`.
func NewFrontier() *Frontier {
	return &Frontier{Daemon: newDaemon(), CrawlLog: newCrawlLog(), Dir: defaultDir, Checkpoint: 64 << 20}
}

func (c *Frontier) check(src *Source) error {
	if c.Checkpoint < 1<<10 {
		return src.Refuse("checkpoint", "is under 1KiB; use for example 64MiB")
	}
	return errors.Join(c.Daemon.check(src), c.Disk.check(src), c.CrawlLog.check(src), c.Mail.check(src))
}

// Mail is where a process takes the reports that sites mail (formats §6.4), and from whom.
type Mail struct {
	UpdatesListen   string `key:"updates-listen" group:"Freshness" usage:"receive update reports by SMTP on ‹ADDRESS›" example:"127.0.0.1:2525"`
	UpdatesLMTP     bool   `key:"updates-lmtp" group:"Freshness" usage:"use LMTP instead of SMTP there, behind your own mail server"`
	UpdatesMaildir  string `key:"updates-maildir" group:"Freshness" usage:"read update reports from the Maildir ‹DIR›" example:"/var/mail/curtsy"`
	UpdatesIndexNow string `key:"updates-indexnow" group:"Freshness" usage:"accept IndexNow submissions by HTTP on ‹ADDRESS›/indexnow" example:"127.0.0.1:8087"`
	UpdatesWebSub   string `key:"updates-websub" group:"Freshness" usage:"accept deliveries of WebSub hubs by HTTP on ‹ADDRESS›; see --updates-websub-url" example:"127.0.0.1:8088"`
	UpdatesTrust    string `key:"updates-trust" group:"Freshness" usage:"trust the Authentication-Results of the mail server with this ‹ID›" example:"mx.crawler.example"`
}

func (m Mail) check(src *Source) error {
	if _, _, err := net.SplitHostPort(m.UpdatesListen); m.UpdatesListen != "" && err != nil {
		return src.Refuse("updates-listen", "is not an address with a port; use for example 127.0.0.1:2525")
	}
	if _, _, err := net.SplitHostPort(m.UpdatesIndexNow); m.UpdatesIndexNow != "" && err != nil {
		return src.Refuse("updates-indexnow", "is not an address with a port; use for example 127.0.0.1:8087")
	}
	if _, _, err := net.SplitHostPort(m.UpdatesWebSub); m.UpdatesWebSub != "" && err != nil {
		return src.Refuse("updates-websub", "is not an address with a port; use for example 127.0.0.1:8088")
	}
	if m.UpdatesLMTP && m.UpdatesListen == "" {
		return src.Refuse("updates-lmtp", "needs updates-listen too, for example 127.0.0.1:2525")
	}
	return nil
}

// On reports whether any way of taking reports is configured.
func (m Mail) On() bool {
	return m.UpdatesListen != "" || m.UpdatesMaildir != "" || m.UpdatesIndexNow != "" || m.UpdatesWebSub != ""
}

// CrawlLog is how much a process that writes the crawl log keeps of it.
type CrawlLog struct {
	LogMax  Size `key:"log-max" group:"Output" usage:"start a new file of the crawl log after this ‹SIZE› (0: one file only)" example:"64MiB"`
	LogKeep int  `key:"log-keep" group:"Output" usage:"keep ‹N› full files of the crawl log" example:"8"`
}

func newCrawlLog() CrawlLog { return CrawlLog{LogMax: 64 << 20, LogKeep: 8} }

func (c CrawlLog) check(src *Source) error {
	switch {
	case c.LogMax != 0 && c.LogMax < 64<<10:
		return src.Refuse("log-max", "is under 64KiB; use for example 64MiB, or 0 for one file")
	case c.LogKeep < 0 || c.LogKeep > 1000:
		return src.Refuse("log-keep", "must be 0 to 1000; use for example 8")
	}
	return nil
}

// Disk is how a process that keeps files deals with a disk that fills up.
type Disk struct {
	MinFree Size `key:"min-free" group:"Limits" usage:"pause while less than this ‹SIZE› of disk space is free (0: 1GiB or 5 %, whichever is more)" example:"2GiB"`
}

func (d Disk) check(src *Source) error {
	if d.MinFree < 0 {
		return src.Refuse("min-free", "is negative; use for example 2GiB, or 0 for 1GiB or 5 % of the disk")
	}
	return nil
}

// Fetcher are the settings of `curtsy fetcher`.
type Fetcher struct {
	Daemon     `key:",squash"`
	Fetch      `key:",squash"`
	Sign       `key:",squash"`
	SiteAccess `key:",squash"`
}

// NewFetcher has the defaults of `curtsy fetcher`.
func NewFetcher() *Fetcher { return &Fetcher{Daemon: newDaemon(), Fetch: newFetch(), Sign: newSign()} }

func (c *Fetcher) check(src *Source) error {
	list := c.Crawl
	shares, err := parseCrawls(list)
	if err != nil {
		return src.Refuse("crawl", err.Error())
	}
	if len(shares) > 1 && (c.Credentials != "" || c.CredentialsText != "") {
		return src.Refuse("crawl", "names several crawls, and all of them could use the credentials; run a separate fetcher for the crawl that needs them, for example --crawl docs")
	}
	defer func() { c.Crawl = list }()
	c.Crawl = shares[0].Name // what a daemon may be given; the others were looked at above
	return errors.Join(c.Daemon.check(src), c.Fetch.check(src), c.Sign.check(src), c.SiteAccess.check(src))
}

// Indexer are the settings of `curtsy indexer`.
type Indexer struct {
	Daemon       `key:",squash"`
	Disk         `key:",squash"`
	Access       `key:",squash"`
	Dir          string        `key:"dir" group:"Output,common" usage:"keep pages and search index in ‹DIR›" example:"/var/lib/curtsy"`
	RebuildAfter time.Duration `key:"rebuild-after" group:"Cluster,common" usage:"crawl the pages of a shard again when its indexer was away for this ‹TIME› (0s: never)" example:"1h"`
}

// NewIndexer has the defaults of `curtsy indexer`.
func NewIndexer() *Indexer {
	return &Indexer{Daemon: newDaemon(), Dir: defaultDir, RebuildAfter: time.Hour}
}

func (c *Indexer) check(src *Source) error {
	if c.RebuildAfter < 0 {
		return src.Refuse("rebuild-after", "is negative; use for example 1h, or 0s for never")
	}
	return errors.Join(c.Daemon.check(src), c.Disk.check(src), c.Access.check(src))
}

// Download are the settings of `curtsy datasets get`.
type Download struct {
	// On the command line this is --data, because --dir says where the files go.
	Dir        string        `key:"dir" flag:"data" group:"Output,common" usage:"use the crawl in ‹DIR›" example:"./curtsy-data"`
	MaxSize    Size          `key:"max-size" group:"Limits,common" usage:"fetch no file larger than this ‹SIZE› (0: no limit)" example:"10GiB"`
	MaxTotal   Size          `key:"max-total" group:"Limits,common" usage:"fetch no more than this ‹SIZE› in total (0: no limit)" example:"100GiB"`
	HoldMax    time.Duration `key:"hold-max" group:"Politeness" usage:"do not wait for a host that must be left alone for longer than this ‹TIME›" example:"10m"`
	Disk       `key:",squash"`
	Sign       `key:",squash"`
	SiteAccess `key:",squash"`
	Common     `key:",squash"`
	NATS       `key:",squash"`
}

// NewDownload has the defaults of `curtsy datasets get`.
func NewDownload() *Download {
	return &Download{Common: newCommon(), NATS: newNATS(), Sign: newSign(), Dir: defaultDir, MaxSize: 10 << 30, MaxTotal: 100 << 30, HoldMax: 10 * time.Minute}
}

func (c *Download) check(src *Source) error {
	switch {
	case c.MaxSize < 0:
		return src.Refuse("max-size", "is negative; use for example 10GiB, or 0 for no limit")
	case c.MaxTotal < 0:
		return src.Refuse("max-total", "is negative; use for example 100GiB, or 0 for no limit")
	case c.HoldMax < time.Second:
		return src.Refuse("hold-max", "is under 1s; use for example 10m")
	}
	return errors.Join(c.Disk.check(src), c.Sign.check(src), c.SiteAccess.check(src), c.Common.check(src), c.NATS.check(src))
}

// Reader are the settings that find the crawl.
func (c *Download) Reader() *Reader { return &Reader{Dir: c.Dir, Common: c.Common, NATS: c.NATS} }
