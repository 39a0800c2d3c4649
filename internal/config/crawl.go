package config

import (
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
)

// Crawl are the settings of `curtsy crawl`.
type Crawl struct {
	Dir     string `key:"dir" group:"Output,common" usage:"keep the crawl in ‹DIR›; the same directory resumes it" example:"./curtsy-data"`
	Seeds   string `key:"seeds" group:"Scope,common" usage:"read seeds from ‹FILE›, one URL a line (-: standard input)" example:"seeds.txt"`
	Plan    `key:",squash"`
	MaxTime time.Duration `key:"max-time" group:"Limits,common" usage:"stop this run after this ‹TIME› (0s: no limit)" example:"2h"`
	// QueryReport records the queries of the dashboard in Dir.
	QueryReport bool `key:"query-report" group:"Output" usage:"record what is searched for and which hits are opened, for curtsy queries"`
	// Progress is one of ProgressModes.
	Hooks      `key:",squash"`
	Progress   string `key:"progress" group:"Output,common" usage:"show progress as ‹FORM›: auto, plain, json or none" words:"auto plain json none" example:"plain"`
	Fetch      `key:",squash"`
	Sign       `key:",squash"`
	Robots     `key:",squash"`
	SiteAccess `key:",squash"`
	Traces     `key:",squash"`
	Disk       `key:",squash"`
	CrawlLog   `key:",squash"`
	Mail       `key:",squash"`
	// Feed belongs to the process. It is not stored with the crawl.
	Feed        []string `key:"feed" group:"Output,common" usage:"keep the system at ‹URL› in step with the stored pages, as curtsy feed does (repeatable)" example:"file:///srv/pages"`
	FeedSecrets `key:",squash"`
	Admin       `key:",squash"`
	Access      `key:",squash"`
	Common      `key:",squash"`
	NATS        `key:",squash"`
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
	return errors.Join(c.Common.check(src), c.NATS.check(src), c.Plan.check(src), c.Admin.check(src), c.Access.check(src), c.Fetch.check(src), c.Sign.check(src), c.Robots.check(src), c.SiteAccess.check(src), c.Traces.check(src), c.Disk.check(src), c.CrawlLog.check(src), c.Mail.check(src), c.Hooks.check(src))
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
