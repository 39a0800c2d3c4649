package config

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
)

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
