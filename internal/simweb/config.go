package simweb

import (
	"net"
	"time"
)

// Config describes a simulated web. The zero value is a small web of plain sites and all the
// variants of [DefaultMix].
type Config struct {
	Seed         int64   // determines everything; 0 is a seed like any other
	Hosts        int     // number of hosts; 0 means 12
	PagesPerHost int     // numbered pages of each host; 0 means 20
	PageBytes    int     // size of a numbered page, about; 0 means 4 KiB
	PageSpread   float64 // sizes vary by up to this fraction of PageBytes, 0 to 1
	LinksPerPage int     // links on a numbered page, including those to other hosts; 0 means 12
	// links to other hosts on each numbered page; homes link to further hosts in any case
	CrossLinks int
	Domain     string // hosts are h0000.<Domain>, h0001.<Domain>, …; "" means sim.test
	Agent      string // product token in agent-specific groups and tags; "" means curtsy

	Mix       func(host int) Behavior // what each host does; nil means DefaultMix
	Behaviors map[int]Behavior        // hosts that differ from Mix

	// Start also answers https, on the same port, with a certificate whose root is in
	// [Server.Roots]
	TLS bool
	// USER:PASSWORD that each request must have (HTTP Basic authentication); "" means none
	Login string
	Addr  string // where Start listens; "" means 127.0.0.1:0
	// Listen is the function with which Start listens; nil means net.Listen
	Listen func(network, address string) (net.Listener, error)
	// a query in which &amp; was not decoded is answered like the intended one
	Undecoded bool
	// requests kept in memory: 0 means 1<<20, negative none; further ones are only counted
	LogLimit int
	KeepSent bool   // answers are recorded as sent: see Web.Sent
	LogFile  string // requests are appended to this file as JSON lines; "" means no file
}

// Behavior describes one host. The zero value is a plain site without a robots.txt.
type Behavior struct {
	Name string // the host's name, below Config.Domain; "" means h<number>
	// the host whose pages this one also serves, with its own robots.txt; "" means none
	CopyOf string
	// the origin to which all URLs except robots.txt are redirected, with the same path; "" means
	// none
	MovedTo string
	Moved   int // the status of these redirects; 0 means 301

	Robots     Robots
	CrawlDelay time.Duration // adds a Crawl-delay line to the rules of the robots.txt
	Peer       int           // the other host of RobotsRedirect and RobotsMirror
	// lines at the end of robots.txt: Host, Mobile-agent-server, Sitemap, …
	Extra []string

	RobotsText string // the file of RobotsCustom
	// what RobotsText forbids, with the query; nil means nothing
	Disallow func(path, token string) bool

	Agents        []AgentServer // servers for mobile robots, which robots.txt names
	Header        []string      // additional header lines of its numbered pages, "Name: value"
	Features      []Feature     // special parts of the site besides its numbered pages
	UsagePolicies []UsagePolicy // pages that state what they may be used for
	Files         []File        // files to which no page leads

	// rows of the datasets rivers and harvest, about 35 bytes each; 0 means 2,000 and 500
	DataRows int

	Pages   int           // overrides Config.PagesPerHost; negative means only the home page
	Latency time.Duration // wait before each answer
	Jitter  time.Duration // maximum additional wait, fixed for each URL

	FlapRate   float64       // this part of the numbered pages, 0 to 1, is flapping: 500 at first
	Fails      int           // how often flapping answers fail before they succeed; 0 means 1
	RetryAfter time.Duration // Retry-After of 429 and 503 answers, in whole seconds; 0 means 1 s
	Busy       int           // how many of the three pages of FeatureRetryAfter; 0 means all
	Stall      time.Duration // how long slow answers take, before or between pieces; 0 means 1 s
	// the first request for a URL is closed unanswered if its connection was used before
	DropReused bool
}

func (c Config) withDefaults() Config {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&c.Hosts, 12)
	def(&c.PagesPerHost, 20)
	def(&c.PageBytes, 4<<10)
	def(&c.LinksPerPage, 12)
	if c.CrossLinks < 0 || c.Hosts == 1 {
		c.CrossLinks = 0
	}
	c.CrossLinks = min(c.CrossLinks, c.LinksPerPage)
	c.PageSpread = min(max(c.PageSpread, 0), 1)
	if c.Domain == "" {
		c.Domain = "sim.test"
	}
	if c.Agent == "" {
		c.Agent = "curtsy"
	}
	if c.Mix == nil {
		c.Mix = DefaultMix
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.LogLimit == 0 {
		c.LogLimit = 1 << 20
	}
	return c
}

func (b Behavior) withDefaults() Behavior {
	if b.Fails <= 0 {
		b.Fails = 1
	}
	if b.RetryAfter <= 0 {
		b.RetryAfter = time.Second
	}
	b.RetryAfter = b.RetryAfter.Round(time.Second)
	if b.Moved == 0 {
		b.Moved = 301
	}
	if b.Stall <= 0 {
		b.Stall = time.Second
	}
	return b
}
