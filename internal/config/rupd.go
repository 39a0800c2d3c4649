package config

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/site"
	"github.com/curtsy/curtsy/pkg/rup"
)

// Rupd are the settings of rupd.
type Rupd struct {
	Root   string   `key:"root" group:"Site,common" usage:"watch the document root ‹DIR›" example:"/var/www/html"`
	Base   string   `key:"base" group:"Site,common" usage:"‹URL› at which the document root is served" example:"https://www.example.org/"`
	Dir    string   `key:"dir" group:"Site,common" usage:"keep state in ‹DIR›, outside the document root" example:"/var/lib/rupd"`
	Robots string   `key:"robots-file" group:"Site" usage:"‹FILE› with the host's robots.txt (default: the one in the document root)" example:"/var/www/html/robots.txt"`
	Index  string   `key:"index-file" group:"Site" usage:"‹NAME› of index files; they are announced as the URL of their directory" example:"index.html"`
	Ignore []string `key:"ignore" group:"Site" usage:"announce no file or directory with a name like ‹PATTERN›; hidden ones are never announced" example:"*.tmp"`

	Settle time.Duration `key:"settle" group:"Site" usage:"look at changes when the root was quiet for this ‹TIME›" example:"2s"`
	Scan   time.Duration `key:"scan-every" group:"Site" usage:"compare the whole root at this ‹INTERVAL› too" example:"1h"`

	Serve   string   `key:"serve" group:"Offers,common" usage:"serve /rupinfo.txt and the CGI on ‹ADDR›" example:"127.0.0.1:7870"`
	CGI     string   `key:"cgi" group:"Offers" usage:"‹URL› or path at which robots reach the CGI" example:"/rup"`
	Proxies []string `key:"trusted-proxy" group:"Offers" usage:"trust X-Forwarded-For from ‹ADDR›, an address or a network" example:"127.0.0.1"`

	Latency     []string `key:"latency" group:"Offers" usage:"offer reports at intervals in this ‹UNIT›: day, week, month; the first is the default" example:"day"`
	Exclude     []string `key:"offer-exclude" group:"Offers" usage:"let robots exclude paths that match this ‹REGEXP›; .* offers any" example:".*"`
	IncludeOnly []string `key:"offer-include-only" group:"Offers" usage:"let robots limit reports to paths that match this ‹REGEXP›; .* offers any" example:".*"`
	Span        string   `key:"max-query-span" group:"Offers" usage:"answer queries about the last ‹SPAN›, or none" example:"30-day"`

	Confirm          bool `key:"confirm" group:"Limits" usage:"mail an address and wait for its confirmation before reports go there; =false sends reports to any address that a stranger names"`
	MaxRegistrations int  `key:"max-registrations" group:"Limits" usage:"register at most ‹N› robots" example:"1000"`
	PerDomain        int  `key:"max-per-domain" group:"Limits" usage:"register at most ‹N› robots with addresses in one domain" example:"20"`
	RegisterPerHour  int  `key:"registers-per-hour" group:"Limits" usage:"accept ‹N› Register requests an hour from one client" example:"10"`
	IndexPerHour     int  `key:"queries-per-hour" group:"Limits" usage:"answer ‹N› GetIndex requests an hour from one client" example:"60"`

	From         string `key:"mail-from" group:"Mail,common" usage:"send reports from ‹ADDRESS›; bounces go there" example:"rup@www.example.org"`
	Relay        string `key:"smtp" group:"Mail,common" usage:"send mail through the relay at ‹HOST:PORT›" example:"mail.example.org:587"`
	SMTPTLS      string `key:"smtp-tls" group:"Mail" usage:"encryption of the connection to the relay, ‹HOW›: {}" choices:"starttls tls none" example:"starttls"`
	User         string `key:"smtp-user" group:"Mail" usage:"‹USER› of the connection to the relay" example:"rup"`
	Password     Secret `key:"smtp-password" flag:"-"`
	PasswordFile string `key:"smtp-password-file" group:"Mail" usage:"‹FILE› with the password for the relay" example:"/run/secrets/smtp"`
	Hello        string `key:"smtp-hello" group:"Mail" usage:"‹NAME› of this machine in its greeting to the relay (default: its own)" example:"www.example.org"`

	Admin  `key:",squash"`
	Common `key:",squash"`
}

// NewRupd has the defaults of rupd.
func NewRupd() *Rupd {
	c := &Rupd{
		Root: "/var/www/html", Dir: "/var/lib/rupd", Index: "index.html", Ignore: site.DefaultIgnore(), Settle: 2 * time.Second, Scan: time.Hour,
		Serve: "127.0.0.1:7870", CGI: "/rup", Proxies: []string{"127.0.0.1", "::1"},
		Latency: []string{"day", "week", "month"}, Exclude: []string{".*"}, IncludeOnly: []string{".*"}, Span: "30-day",
		Confirm: true, MaxRegistrations: 1000, PerDomain: 20, RegisterPerHour: 10, IndexPerHour: 60,
		Relay: "127.0.0.1:25", SMTPTLS: "starttls", Admin: newAdmin(), Common: newCommon(),
	}
	c.Listen = "127.0.0.1:7871"
	return c
}

func (c *Rupd) check(src *Source) error {
	for _, v := range []struct {
		key string
		bad bool
		say string
	}{
		{"base", c.Base == "", "is empty; use for example https://www.example.org/"},
		{"mail-from", c.From == "", "is empty; use an address of yours, for example rup@www.example.org"},
		{"settle", c.Settle <= 0 || c.Settle > time.Minute, "must be within 1ms and 1m; use for example 2s"},
		{"scan-every", c.Scan < time.Second, "is under 1s; use for example 1h"},
		{"latency", !units(c.Latency), "must be of day, week and month; use for example day"},
		{"max-registrations", c.MaxRegistrations < 1, "must be 1 or more; use for example 1000"},
		{"max-per-domain", c.PerDomain < 1, "must be 1 or more; use for example 20"},
		{"registers-per-hour", c.RegisterPerHour < 1, "must be 1 or more; use for example 10"},
		{"queries-per-hour", c.IndexPerHour < 1, "must be 1 or more; use for example 60"},
	} {
		if v.bad {
			return src.Refuse(v.key, v.say)
		}
	}
	if err := src.refuseOther("smtp-tls", "is unknown"); err != nil {
		return err
	}
	if _, err := prefixes(c.Proxies); err != nil {
		return src.Refuse("trusted-proxy", "is not a list of addresses or networks; use for example 127.0.0.1 or 10.0.0.0/8")
	}
	if _, err := c.span(); err != nil {
		return src.Refuse("max-query-span", "is not a span; use for example 30-day, or none")
	}
	if c.PasswordFile != "" {
		body, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return src.Refuse("smtp-password-file", "cannot be read: "+err.Error())
		}
		c.Password = Secret(strings.TrimRight(string(body), "\r\n"))
	}
	return errors.Join(c.Common.check(src), c.Admin.check(src))
}

func units(words []string) bool {
	for _, w := range words {
		if rup.Unit(w).Days() == 0 {
			return false
		}
	}
	return len(words) > 0
}

// prefixes parses addresses and networks.
func prefixes(texts []string) (list []netip.Prefix, err error) {
	for _, p := range texts {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			a, err := netip.ParseAddr(p)
			if err != nil {
				return nil, err
			}
			prefix = netip.PrefixFrom(a, a.BitLen())
		}
		list = append(list, prefix)
	}
	return list, nil
}

func (c *Rupd) span() (rup.Span, error) {
	if c.Span == "none" {
		return rup.Span{}, nil
	}
	return rup.ParseSpan(c.Span)
}

// Site returns the options of the Site. It must be called after Load, which checks the settings.
func (c *Rupd) Site(stderr io.Writer) site.Options {
	proxies, _ := prefixes(c.Proxies)
	span, _ := c.span()
	info := rup.Info{CGI: c.CGI, Exclude: c.Exclude, IncludeOnly: c.IncludeOnly, MaxQuerySpan: span}
	for _, u := range c.Latency {
		info.Latency = append(info.Latency, rup.Unit(u))
	}
	return site.Options{
		Root: c.Root, Base: c.Base, Dir: c.Dir, Robots: c.Robots, Index: c.Index, Ignore: c.Ignore, Settle: c.Settle, ScanEvery: c.Scan,
		Serve: c.Serve, Proxies: proxies, Info: info, Unasked: !c.Confirm,
		MaxRegistrations: c.MaxRegistrations, PerDomain: c.PerDomain, RegisterPerHour: c.RegisterPerHour, IndexPerHour: c.IndexPerHour,
		Mail: site.MailOptions{Relay: c.Relay, From: c.From, TLS: c.SMTPTLS, User: c.User, Password: string(c.Password), Hello: c.Hello},
		Log:  c.Logger(stderr),
	}
}
