package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/web/dashboard"
	"github.com/curtsy/curtsy/internal/webtext"
)

// Access says who may open the dashboard of a process, and how it is served.
type Access struct {
	Token     Secret   `key:"dashboard-token" flag:"-"`
	TokenFile string   `key:"dashboard-token-file" group:"Output" usage:"‹FILE› with the token that opens the dashboard" example:"/run/secrets/dashboard"`
	Hosts     []string `key:"dashboard-hosts" group:"Output" usage:"answer to these host ‹NAMES› too, besides addresses and localhost" example:"crawl.example.org"`
	Proxies   []string `key:"dashboard-trusted-proxy" group:"Output" usage:"trust X-Forwarded-For and X-Forwarded-Proto from ‹ADDR›, an address or a network, when clients log in to the dashboard" example:"127.0.0.1"`
	TLSCert   string   `key:"dashboard-cert" group:"Output" usage:"use TLS with the certificate in ‹FILE› (PEM)" example:"/etc/curtsy/dashboard.pem"`
	TLSKey    string   `key:"dashboard-key" group:"Output" usage:"‹FILE› with the key of that certificate (PEM)" example:"/etc/curtsy/dashboard-key.pem"`
}

// leastToken is the least number of characters of a token. A shorter token could be guessed.
const leastToken = 16

func (a *Access) check(src *Source) error {
	if a.TokenFile != "" {
		b, err := os.ReadFile(a.TokenFile)
		if err != nil {
			return src.Refuse("dashboard-token-file", fmt.Sprintf("cannot be read: %v", err))
		}
		a.Token = Secret(strings.TrimSpace(string(b)))
	}
	switch {
	case a.Token != "" && len(a.Token) < leastToken:
		return src.Refuse("dashboard-token", fmt.Sprintf("has fewer than %d characters; make one with: openssl rand -hex 16", leastToken))
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return src.Refuse("dashboard-cert", "needs dashboard-key, and dashboard-key needs dashboard-cert; use both")
	}
	if _, err := prefixes(a.Proxies); err != nil {
		return src.Refuse("dashboard-trusted-proxy", "is not a list of addresses or networks; use for example 127.0.0.1 or 10.0.0.0/8")
	}
	for _, name := range a.Hosts {
		if strings.ContainsAny(name, ":/ ") || name == "" {
			return src.Refuse("dashboard-hosts", "must be names without port, for example crawl.example.org")
		}
	}
	return nil
}

// Dashboard returns the options of a dashboard. If other machines can reach its port, they always
// include a token.
func (a Access) Dashboard(loopback bool, log *slog.Logger) dashboard.Options {
	o := dashboard.Options{Token: string(a.Token), Hosts: a.Hosts, Log: log}
	o.Proxies, _ = prefixes(a.Proxies) // check has read them
	if o.Token == "" && !loopback {
		o.Token = rand.Text()
	}
	return o
}

// About returns the flags that make another command use the same crawl: the one in a directory or,
// if a server is named, the one on it. It returns "" if the defaults find it. A server address that
// contains a password is left out.
func About(dir string, n NATS) string {
	switch {
	case n.URL != "" && strings.Contains(n.URL, "@"):
		return " --nats URL --crawl " + webtext.ShellWord(n.Crawl)
	case n.URL != "":
		return " --nats " + webtext.ShellWord(n.URL) + " --crawl " + webtext.ShellWord(n.Crawl)
	case dir == defaultDir:
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return " --dir " + webtext.ShellWord(dir)
}

// Dashboard are the settings of `curtsy dashboard`.
type Dashboard struct {
	Dir string `key:"dir" group:"Output,common" usage:"use the crawl in ‹DIR›" example:"./curtsy-data"`
	// The setting has a key of its own, because the admin port of a running crawl may be another or
	// off.
	Listen string `key:"dashboard-listen" flag:"listen" group:"Output,common" usage:"serve on ‹ADDR›" example:"127.0.0.1:7890"`
	// QueryReport records queries in Dir.
	QueryReport bool `key:"query-report" group:"Output" usage:"record what is searched for and which hits are opened, for curtsy queries"`
	Access      `key:",squash"`
	Common      `key:",squash"`
	NATS        `key:",squash"`
}

// NewDashboard has the defaults of `curtsy dashboard`.
func NewDashboard() *Dashboard {
	return &Dashboard{Common: newCommon(), NATS: newNATS(), Dir: defaultDir, Listen: "127.0.0.1:7890"}
}

func (c *Dashboard) check(src *Source) error {
	if !address(c.Listen) {
		return src.Refuse("dashboard-listen", "is not an address with a port; use for example 127.0.0.1:7890")
	}
	return errors.Join(c.Common.check(src), c.NATS.check(src), c.Access.check(src))
}
