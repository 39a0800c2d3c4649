package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
)

// defaultDir is the directory of a crawl if none is given.
const defaultDir = "./curtsy-data"

// Admin is the port of a process for its operator.
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

// address reports whether s is host:port. The host may be empty.
func address(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// Fetch limits the work of one fetcher and what it takes from a site.
type Fetch struct {
	Visits  int  `key:"visits" group:"Limits,common" usage:"visit ‹N› hosts at the same time" example:"256"`
	MaxBody Size `key:"max-body" group:"Limits" usage:"keep at most this ‹SIZE› of a page" example:"10MiB"`
	// MaxCatalogue bounds a JSON catalogue of datasets, which is read as a stream.
	MaxCatalogue Size `key:"max-catalogue" group:"Limits" usage:"read at most this ‹SIZE› of a dataset catalogue (data.json, CKAN, JSON-LD)" example:"64MiB"`
	// PageMemory bounds the memory of all large pages together while they are fetched. A page that
	// does not fit waits.
	PageMemory Size   `key:"page-memory" group:"Limits" usage:"use at most this ‹SIZE› of memory for large pages; further ones wait" example:"256MiB"`
	PDFToText  string `key:"pdftotext" group:"What is kept" usage:"read PDF files with the poppler program at ‹PATH› (empty: with the built-in reader)" example:"/usr/bin/pdftotext"`
}

// leastPageMemory is enough for a single large page.
const leastPageMemory = 32 << 20

// executable reports whether an absolute path names a program.
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

// ProgressModes are the forms in which `curtsy crawl` shows its progress. auto redraws one line in
// a terminal and prints a line a minute elsewhere. plain prints such lines everywhere, json prints
// JSON lines, and none prints nothing.
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

// Foresee are the settings of `curtsy plan`. They are those settings of a crawl that decide which
// pages it requests, and how fast.
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

// Seed are the settings of `curtsy seed`, which submits a crawl to daemons.
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

// Set are the settings of `curtsy set`: those that may change while a crawl runs, and where it is.
type Set struct {
	Dir    string `key:"dir" group:"Output,common" usage:"change the crawl that runs in ‹DIR›" example:"./curtsy-data"`
	Change `key:",squash"`
	Common `key:",squash"`
	NATS   `key:",squash"`
}

// NewSet has the defaults of `curtsy set`.
func NewSet() *Set {
	return &Set{Common: newCommon(), NATS: newNATS(), Dir: defaultDir, Change: Change{settings.Defaults()}}
}

func (c *Set) check(src *Source) error {
	return errors.Join(c.Common.check(src), c.NATS.check(src), checkSettings(src, &c.Change.spec))
}

// Reader are the settings of the commands that read a crawl or control it.
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
	// The setting has a key of its own, because the admin port of a running crawl may be another or
	// off.
	Listen string `key:"search-listen" flag:"listen" group:"Output,common" usage:"serve on ‹ADDR›" example:"127.0.0.1:7880"`
	// Metrics have a port of their own, because everybody may reach the port of the search.
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

// Mail configures how a process receives the reports that sites mail (formats §6.4), and which
// senders it trusts.
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

// On reports whether the process receives reports in any way.
func (m Mail) On() bool {
	return m.UpdatesListen != "" || m.UpdatesMaildir != "" || m.UpdatesIndexNow != "" || m.UpdatesWebSub != ""
}

// CrawlLog says how much of the crawl log is kept by the process that writes it.
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

// Disk says when a process that stores files pauses because the disk is almost full.
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
	c.Crawl = shares[0].Name // the check of a daemon accepts one name; all were checked above
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
	// The flag is --data, because --dir says where the files go.
	Dir        string        `key:"dir" flag:"data" group:"Output,common" usage:"use the crawl in ‹DIR›" example:"./curtsy-data"`
	MaxSize    Size          `key:"max-size" group:"Limits,common" usage:"fetch no file larger than this ‹SIZE› (0: no limit)" example:"10GiB"`
	MaxTotal   Size          `key:"max-total" group:"Limits,common" usage:"fetch no more than this ‹SIZE› in total (0: no limit)" example:"100GiB"`
	HoldMax    time.Duration `key:"hold-max"`
	Disk       `key:",squash"`
	Sign       `key:",squash"`
	SiteAccess `key:",squash"`
	Common     `key:",squash"`
	NATS       `key:",squash"`
}

// NewDownload has the defaults of `curtsy datasets get`.
func NewDownload() *Download {
	return &Download{Common: newCommon(), NATS: newNATS(), Sign: newSign(), Dir: defaultDir, MaxSize: 10 << 30, MaxTotal: 100 << 30, HoldMax: settings.Defaults().HoldMax}
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

// Reader returns the settings that find the crawl.
func (c *Download) Reader() *Reader { return &Reader{Dir: c.Dir, Common: c.Common, NATS: c.NATS} }
