package config

import (
	"errors"

	"github.com/curtsy/curtsy/internal/settings"
)

// MobileCheck are the settings of `curtsy check mobile-agent`: the identity of the requester, and
// what decides where robots would be sent.
type MobileCheck struct {
	Contact      string   `key:"contact"`
	AllowPrivate bool     `key:"allow-private"`
	Resolve      []string `key:"resolve" group:"Access,common"`
	RobotServers []string `key:"mobile-robots-server"`
	Sign         `key:",squash"`
	SiteAccess   `key:",squash"`
	Common       `key:",squash"`
}

// NewMobileCheck has the defaults of `curtsy check mobile-agent`.
func NewMobileCheck() *MobileCheck {
	return &MobileCheck{Sign: newSign(), Common: newCommon()}
}

func (c *MobileCheck) check(src *Source) error {
	typed := settings.Defaults()
	typed.Contact, typed.Resolve, typed.RobotServers = c.Contact, c.Resolve, c.RobotServers
	return errors.Join(checkSettings(src, &typed), c.Sign.check(src), c.SiteAccess.check(src), c.Common.check(src))
}
