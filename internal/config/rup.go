package config

import (
	"errors"
	"os"
	"strings"

	"github.com/curtsy/curtsy/internal/settings"
)

// RUP are the settings of `curtsy rup`: the identity of the requester, and the key that the site
// returned.
type RUP struct {
	Contact      string   `key:"contact"`
	AllowPrivate bool     `key:"allow-private"`
	Resolve      []string `key:"resolve" group:"Access,common"`
	Key          Secret   `key:"rup-key" flag:"-"`
	KeyFile      string   `key:"rup-key-file" flag:"key-file" group:"Access,common" usage:"‹FILE› with the registration key" example:"site.key"`
	Sign         `key:",squash"`
	SiteAccess   `key:",squash"`
	Common       `key:",squash"`
}

// NewRUP has the defaults of `curtsy rup`.
func NewRUP() *RUP { return &RUP{Sign: newSign(), Common: newCommon()} }

func (c *RUP) check(src *Source) error {
	if c.KeyFile != "" {
		body, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return src.Refuse("rup-key-file", "cannot be read: "+err.Error())
		}
		c.Key = Secret(strings.TrimRight(string(body), "\r\n"))
	}
	typed := settings.Defaults()
	typed.Contact, typed.Resolve = c.Contact, c.Resolve
	return errors.Join(checkSettings(src, &typed), c.Sign.check(src), c.SiteAccess.check(src), c.Common.check(src))
}
