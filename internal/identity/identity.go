// Package identity makes what an operator publishes at the address in whose name requests are
// signed: the directory of keys with the header it is served with, the addresses we ask from, the
// agent's card, and a page for webmasters. [Files] makes them, and [Write] puts them into a
// directory that a web server serves. No private key is among them.
package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/botauth"
)

// Paths of the files, below the agent's origin. The directory of keys is at
// [botauth.DirectoryPath], or where the agent's address says.
const (
	RangesPath  = "/crawler-ips.json"
	CardPath    = "/signature-agent-card.json"
	PagePath    = "/index.html"
	HeadersFile = "headers.txt" // for the operator, not to be served
	NginxFile   = "nginx.conf"  // the same for nginx
)

// Options are what is published.
type Options struct {
	Agent     string // as botauth.ParseAgent returns it
	Form      botauth.Form
	Keys      []*botauth.Key // the one that signs, and others that are good beside it
	Token     string         // our product token
	UserAgent string
	Contact   string         // a mail address or a URL
	Purposes  []string       // what the pages are fetched for: search, ai-train, …
	Ranges    []netip.Prefix // that we ask from; none: they are not published
	Delay     time.Duration  // the least pause after an answer
	Now       time.Time
	Valid     time.Duration // how long the proof that we have the keys is good
}

// File is a file to be written, by its path below the directory.
type File struct {
	Name string
	Body []byte
}

// Files makes the files. The same options make the same files.
func Files(o Options) ([]File, error) {
	agent, err := url.Parse(o.Agent)
	switch {
	case err != nil || agent.Host == "":
		return nil, fmt.Errorf("agent %q is not a URL", o.Agent)
	case len(o.Keys) == 0:
		return nil, errors.New("there is no key to publish")
	case o.Valid < time.Hour:
		return nil, errors.New("the proof must be valid for at least an hour")
	}
	origin := "https://" + agent.Host
	at := botauth.DirectoryPath
	if o.Form == botauth.FormJWKS {
		at = agent.EscapedPath()
	}
	if !filepath.IsLocal(strings.TrimPrefix(at, "/")) || strings.HasSuffix(at, "/") {
		return nil, fmt.Errorf("the key set at %s cannot be a file; use a URL such as %s/keys.json", o.Agent, origin)
	}
	directory, err := botauth.NewDirectory(o.Keys...).JSON()
	if err != nil {
		return nil, err
	}
	header := botauth.SignDirectory(directory, agent.Host, o.Now, o.Now.Add(o.Valid), o.Keys...)
	if at != botauth.DirectoryPath {
		header.Set("Content-Type", "application/jwk-set+json")
	}
	var lines, nginx strings.Builder
	fmt.Fprintf(&nginx, "# Put this into the server block of %s. Valid until %s.\nlocation = %s {\n    types { }\n    default_type %s;\n",
		agent.Host, o.Now.Add(o.Valid).UTC().Format(time.RFC3339), at, header.Get("Content-Type"))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&lines, "%s: %s\n", name, header.Get(name))
		if name != "Content-Type" {
			fmt.Fprintf(&nginx, "    add_header %s '%s';\n", name, header.Get(name))
		}
	}
	nginx.WriteString("}\n")
	list := []File{{strings.TrimPrefix(at, "/"), directory}, {HeadersFile, []byte(lines.String())}, {NginxFile, []byte(nginx.String())}}

	ranges := ""
	if len(o.Ranges) > 0 {
		ranges = origin + RangesPath
		body, err := rangesFile(o)
		if err != nil {
			return nil, err
		}
		list = append(list, File{RangesPath[1:], body})
	}
	body, err := indented(cardOf(o, origin, origin+at, ranges))
	if err != nil {
		return nil, err
	}
	list = append(list, File{CardPath[1:], body})
	page, err := pageOf(o, origin+at, ranges)
	if err != nil {
		return nil, err
	}
	list = append(list, File{PagePath[1:], page})
	for i, f := range list {
		if slices.ContainsFunc(list[:i], func(g File) bool { return g.Name == f.Name }) {
			return nil, fmt.Errorf("the key set cannot be at %s, because %s belongs there; use for example %s/keys.json", o.Agent, f.Name, origin)
		}
	}
	return list, nil
}

// jafar is the list of addresses (draft-illyes-webbotauth-jafar-00).
type jafar struct {
	FormatVersion string   `json:"formatVersion"`
	SyncToken     string   `json:"synctoken"`
	CreationTime  string   `json:"creationTime"`
	Notes         string   `json:"notes,omitempty"`
	Prefixes      []prefix `json:"prefixes"`
}

type prefix struct {
	IPv4    string `json:"ipv4Prefix,omitempty"`
	IPv6    string `json:"ipv6Prefix,omitempty"`
	Service string `json:"service"`
}

func rangesFile(o Options) ([]byte, error) {
	j := jafar{
		FormatVersion: "1.0", SyncToken: strconv.FormatInt(o.Now.Unix(), 10), CreationTime: o.Now.UTC().Format("2006-01-02T15:04:05Z"),
		Notes: "Requests of " + o.Token + " come from these addresses.",
	}
	for _, r := range o.Ranges {
		p := prefix{Service: o.Token}
		if r.Addr().Is4() {
			p.IPv4 = r.String()
		} else {
			p.IPv6 = r.String()
		}
		j.Prefixes = append(j.Prefixes, p)
	}
	return indented(j)
}

// ParseRanges reads addresses and prefixes, sorts them and removes duplicates. Its error contains
// an example that works.
func ParseRanges(list []string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, addrErr := netip.ParseAddr(s)
			if addrErr != nil || a.Zone() != "" {
				return nil, fmt.Errorf("%q is neither an address nor a prefix; use for example 192.0.2.7 or 2001:db8::/48", s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		a := p.Addr()
		least := 8
		if a.Is6() {
			least = 19
		}
		switch {
		case a.Is4In6():
			return nil, fmt.Errorf("%q is an IPv4 address written as IPv6; use %s", s, a.Unmap())
		case p.Bits() < least:
			return nil, fmt.Errorf("%q is too large a range; give the addresses that your requests come from", s)
		case !a.IsGlobalUnicast() || a.IsPrivate():
			return nil, fmt.Errorf("%q is not public; give the addresses that sites see your requests come from", s)
		}
		ranges = append(ranges, p.Masked())
	}
	slices.SortFunc(ranges, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return slices.Compact(ranges), nil
}

// card is what a register of agents reads (draft-meunier-webbotauth-registry).
type card struct {
	ClientID   string   `json:"client_id"` // its own address
	ClientName string   `json:"client_name"`
	ClientURI  string   `json:"client_uri"`
	Contacts   []string `json:"contacts,omitempty"`
	JWKSURI    string   `json:"jwks_uri"`
	WebBotAuth botCard  `json:"web_bot_auth"`
}

type botCard struct {
	UserAgent  string   `json:"expected-user-agent"`
	Token      string   `json:"rfc9309-product-token"`
	Compliance []string `json:"rfc9309-compliance"`
	Trigger    string   `json:"trigger"`
	Purpose    string   `json:"purpose,omitempty"`
	Control    string   `json:"rate-control"`
	Rate       string   `json:"rate-expectation"`
	RangesURI  string   `json:"ips_uri,omitempty"`
}

func cardOf(o Options, origin, keys, ranges string) card {
	c := card{
		ClientID: origin + CardPath, ClientName: o.Token, ClientURI: origin + "/", JWKSURI: keys,
		WebBotAuth: botCard{
			UserAgent: o.UserAgent, Token: o.Token, Compliance: []string{"User-agent", "Allow", "Disallow", "Crawl-delay", "Sitemap"},
			Trigger: "crawler", Purpose: strings.Join(o.Purposes, " "), Control: "429 and 503 with Retry-After; Crawl-delay", Rate: rate(o), RangesURI: ranges,
		},
	}
	if o.Contact != "" {
		c.Contacts = []string{contactURL(o.Contact)}
	}
	return c
}

// rate describes how often a host is asked.
func rate(o Options) string {
	return fmt.Sprintf("one request at a time to a host, and at least %v from the end of a response to the next request", max(o.Delay, time.Second))
}

// contactURL is a contact as a link.
func contactURL(contact string) string {
	if strings.Contains(contact, "://") || strings.HasPrefix(contact, "mailto:") {
		return contact
	}
	return "mailto:" + contact
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Write writes files into a directory, each as a whole or not at all. A second call replaces them.
func Write(dir string, list []File) error {
	for _, f := range list {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		tmp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
		if err != nil {
			return err
		}
		_, err = tmp.Write(f.Body)
		if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err == nil {
			err = os.Rename(tmp.Name(), name)
		}
		if err != nil {
			os.Remove(tmp.Name())
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// WriteKey makes a new key and writes it to a file that must not exist yet and that only its owner
// can read.
func WriteKey(name string, key *botauth.Key) error {
	body, err := key.PEM()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists; use a new file, for example %s", name, strings.TrimSuffix(name, ".pem")+"-2.pem")
	}
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(name)
	}
	return err
}
