package config

import (
	"errors"
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
