package config

import (
	"errors"
	"os"
	"strings"
)

// RUP are the settings of `curtsy rup`: who asks a site, and the key that the site gave.
type RUP struct {
	Contact      string   `key:"contact" group:"Politeness,common" usage:"‹ADDRESS› at which webmasters reach you, mail or URL; it is sent in the User-Agent" example:"me@example.org"`
	AllowPrivate bool     `key:"allow-private" group:"Access,common" usage:"connect to private and loopback addresses too"`
	Resolve      []string `key:"resolve" group:"Access,common" usage:"connect to ADDR for HOST, given as ‹HOST=ADDR›; *.suffix is allowed (repeatable)" example:"docs.test=127.0.0.1:8080"`
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
	return errors.Join(checkContact(src, c.Contact), checkResolve(src, c.Resolve), c.Sign.check(src), c.SiteAccess.check(src), c.Common.check(src))
}
