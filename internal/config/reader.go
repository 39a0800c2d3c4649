package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed/sinks"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/pkg/usage"
)

// defaultDir is the directory of a crawl if none is given.
const defaultDir = "./curtsy-data"

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
	// CORSOrigins are compared byte by byte with what browsers send.
	CORSOrigins []string `key:"cors-origin" group:"Output,common" usage:"let pages of this ‹ORIGIN› search with the reader's browser, as the search box does; may be repeated" example:"https://docs.example.org"`
	// QueryReport records queries in Dir.
	QueryReport bool `key:"query-report" group:"Output" usage:"record what is searched for and which hits are opened, for curtsy queries"`
	Common      `key:",squash"`
	NATS        `key:",squash"`
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
	for _, o := range c.CORSOrigins {
		if !origin(o) {
			return src.Refuse("cors-origin", "must be the scheme and host of a page, in lower case and without a path; use for example https://docs.example.org")
		}
	}
	return errors.Join(c.Common.check(src), c.NATS.check(src))
}

// origin reports whether s is an origin as browsers write it (RFC 6454 §6.2). "null" and "*" would
// be pages of anybody.
func origin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && s == u.Scheme+"://"+strings.ToLower(u.Host) && u.User == nil && !strings.Contains(u.Host, "*")
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

// FeedSecrets are the credentials for the sinks of feeds.
type FeedSecrets struct {
	FeedPassword Secret `key:"feed-password" flag:"-"`
	FeedToken    Secret `key:"feed-token" flag:"-"`
	FeedSecret   Secret `key:"feed-secret" flag:"-"`
}

// Sinks are the credentials as package sinks takes them.
func (c FeedSecrets) Sinks() sinks.Secrets {
	return sinks.Secrets{Password: string(c.FeedPassword), Token: string(c.FeedToken), Secret: string(c.FeedSecret)}
}

// FeedTo says what is sent where.
type FeedTo struct {
	FeedSecrets `key:",squash"`
	To          string        `key:"feed-to" flag:"to" group:"Output,common" usage:"send to the system at ‹URL›" example:"file:///srv/pages"`
	Name        string        `key:"feed-name" flag:"name" group:"Output,common" usage:"‹NAME› of the position up to which everything was sent (default: made from the URL)" example:"search-1"`
	Content     string        `key:"feed-content" flag:"content" group:"Output,common" usage:"send this ‹PART› of each page: {}" choices:"text markdown html none" example:"markdown"`
	Fields      []string      `key:"feed-fields" flag:"fields" group:"Output" usage:"send only these ‹FIELDS› of a row of curtsy export pages, or of the site rules (default: all)" example:"url,title,text"`
	For         []string      `key:"feed-for" flag:"for" group:"Output" usage:"only what its site allows for this ‹PURPOSE›: search, ai-input, ai-train, tdm (repeatable)" example:"ai-train"`
	UnknownToo  bool          `key:"feed-unknown-too" flag:"unknown-too" group:"Output" usage:"with --for: also what the rules of its site do not mention"`
	Interval    time.Duration `key:"feed-every" flag:"every" group:"Output,common" usage:"go on, and look for changes at this ‹INTERVAL› (0s: end when everything was sent)" example:"1m"`
	Follow      bool          `key:"feed-follow" flag:"follow" group:"Output,common" usage:"go on, and send changes within seconds"`
}

// followEvery is the interval of --follow.
const followEvery = time.Second

// Every is the interval of looking for changes, 0 if the feed is to end.
func (c FeedTo) Every() time.Duration {
	if c.Follow && c.Interval == 0 {
		return followEvery
	}
	return c.Interval
}

func (c *FeedTo) check(src *Source) error {
	if c.Name != "" && crawl.CheckFeedName(c.Name) != nil {
		return src.Refuse("feed-name", crawl.CheckFeedName(c.Name).Error())
	}
	if c.Interval < 0 || c.Interval > 0 && c.Interval < followEvery {
		return src.Refuse("feed-every", "is under a second; use for example 1m")
	}
	purposes, err := usage.ParsePurposes(c.For)
	if err != nil {
		return src.Refuse("feed-for", err.Error()+"; use for example ai-train")
	}
	c.For = usage.Names(purposes)
	if c.UnknownToo && len(c.For) == 0 {
		return src.Refuse("feed-unknown-too", "needs --for, for example --for ai-train --unknown-too")
	}
	if len(c.For) == 0 {
		c.For = nil
	}
	var fields []string
	for _, some := range c.Fields { // one or several with commas between them
		for name := range strings.SplitSeq(some, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(fields, name) {
				fields = append(fields, name)
			}
		}
	}
	c.Fields = fields
	return src.refuseOther("feed-content", "is no part of a page")
}

// Feeder are the settings of `curtsy feeder`.
type Feeder struct {
	Daemon `key:",squash"`
	FeedTo `key:",squash"`
	Dir    string `key:"dir" group:"Output,common" usage:"keep the changes that the other system refuses in ‹DIR›" example:"/var/lib/curtsy"`
}

// NewFeeder has the defaults of `curtsy feeder`.
func NewFeeder() *Feeder {
	c := &Feeder{Daemon: newDaemon(), FeedTo: newFeedTo(), Dir: defaultDir}
	c.Follow = true
	return c
}

func (c *Feeder) check(src *Source) error {
	c.Follow = true
	return errors.Join(c.Daemon.check(src), c.FeedTo.check(src))
}

// Feed are the settings of `curtsy feed`.
type Feed struct {
	Reader `key:",squash"`
	FeedTo `key:",squash"`
}

// NewFeed has the defaults of `curtsy feed`.
func NewFeed() *Feed { return &Feed{Reader: *NewReader(), FeedTo: newFeedTo()} }

func newFeedTo() FeedTo { return FeedTo{Content: "text"} }

func (c *Feed) check(src *Source) error { return errors.Join(c.Reader.check(src), c.FeedTo.check(src)) }

// SitesTest are the settings of `curtsy sites test` and `curtsy sites init`: the crawl with stored
// pages, and the identity of the requester.
type SitesTest struct {
	Dir          string   `key:"dir" group:"Output,common" usage:"use the crawl in ‹DIR›" example:"./curtsy-data"`
	Contact      string   `key:"contact"`
	AllowPrivate bool     `key:"allow-private"`
	Resolve      []string `key:"resolve" group:"Access,common"`
	Sign         `key:",squash"`
	SiteAccess   `key:",squash"`
	Common       `key:",squash"`
	NATS         `key:",squash"`
}

// NewSitesTest has the defaults of `curtsy sites test`.
func NewSitesTest() *SitesTest {
	return &SitesTest{Sign: newSign(), Common: newCommon(), NATS: newNATS(), Dir: defaultDir}
}

// Reader are the settings that select the crawl.
func (c *SitesTest) Reader() *Reader { return &Reader{Dir: c.Dir, Common: c.Common, NATS: c.NATS} }

func (c *SitesTest) check(src *Source) error {
	typed := settings.Defaults()
	typed.Contact, typed.Resolve = c.Contact, c.Resolve
	return errors.Join(checkSettings(src, &typed), c.Sign.check(src), c.SiteAccess.check(src), c.Common.check(src), c.NATS.check(src))
}
