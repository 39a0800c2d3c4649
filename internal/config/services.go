package config

import (
	"errors"
	"time"
)

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

// Fetcher are the settings of `curtsy fetcher`.
type Fetcher struct {
	Daemon     `key:",squash"`
	Fetch      `key:",squash"`
	Sign       `key:",squash"`
	Robots     `key:",squash"`
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
	return errors.Join(c.Daemon.check(src), c.Fetch.check(src), c.Sign.check(src), c.Robots.check(src), c.SiteAccess.check(src))
}

// Renderer are the settings of `curtsy renderer`.
type Renderer struct {
	Daemon    `key:",squash"`
	Rendering `key:",squash"`
	Pages     int  `key:"render-pages" group:"Limits" usage:"start a browser again after ‹N› pages" example:"100"`
	Memory    Size `key:"render-memory" group:"Limits" usage:"each process of a browser may use this ‹SIZE› of memory" example:"1GiB"`
}

// NewRenderer has the defaults of `curtsy renderer`.
func NewRenderer() *Renderer {
	return &Renderer{Daemon: newDaemon(), Rendering: newRendering(), Pages: 100, Memory: 1 << 30}
}

func (c *Renderer) check(src *Source) error {
	if c.Pages < 1 {
		return src.Refuse("render-pages", "is under 1; use for example 100")
	}
	if c.Memory < 128<<20 {
		return src.Refuse("render-memory", "is under 128MiB, which no browser can start with; use for example 1GiB")
	}
	return errors.Join(c.Daemon.check(src), c.Rendering.check(src))
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
