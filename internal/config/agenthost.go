package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/agenthost"
)

// Agenthost are the settings of agenthost.
type Agenthost struct {
	Root       string   `key:"root" group:"Site,common" usage:"let robots read below the document root ‹DIR›" example:"/var/www/html"`
	Server     string   `key:"server" group:"Site,common" usage:"take documents from the site's own server at ‹URL›, on this machine: those in root if it is given, else those in sitemaps" example:"http://127.0.0.1:8080"`
	Base       string   `key:"base" group:"Site,common" usage:"‹URL› at which the document root is served" example:"https://www.example.org/"`
	Dir        string   `key:"dir" group:"Site,common" usage:"keep state and results in ‹DIR›, outside the document root" example:"/var/lib/agenthost"`
	Robots     string   `key:"robots-file" group:"Site" usage:"‹FILE› with the host's robots.txt (default: the one of the server, or in the document root)" example:"/var/www/html/robots.txt"`
	Index      string   `key:"index-file" group:"Site" usage:"‹NAME› of index files; they are the documents of their directories" example:"index.html"`
	Extensions []string `key:"extension" group:"Site" usage:"let robots read files with this ‹EXTENSION›; others may be programs" example:"html"`
	Headers    []string `key:"header" group:"Site" usage:"‹ENTRY› with a header line that the web server adds: a path as in robots.txt, a blank, the line" example:"/private/ X-Robots-Tag: noindex"`

	Serve   string `key:"serve" group:"Access,common" usage:"accept robots on ‹ADDR›" example:":10434"`
	Address string `key:"address" group:"Access,common" usage:"‹ADDRESS› to which robots are sent: atp://HOST:PORT, or atps:// with a certificate" example:"atp://www.example.org:10434"`
	TLSCert string `key:"tls-cert" group:"Access" usage:"‹FILE› with the certificate for atps:// (PEM)" example:"fullchain.pem"`
	TLSKey  string `key:"tls-key" group:"Access" usage:"‹FILE› with the key of that certificate (PEM)" example:"privkey.pem"`
	// Allow is common, although it is long: without it, nobody can do anything.
	Allow []string `key:"allow-robot" group:"Access,common" usage:"let the holder of a key send robots, by an ‹ENTRY› of words name= key= subtree= runs= read= sent= cpu=, or @FILE with entries" example:"name=example,key=BASE64,subtree=/docs/"`

	Runs     int           `key:"runs-at-once" group:"Limits" usage:"run ‹N› robots at the same time" example:"2"`
	Memory   Size          `key:"robot-memory" group:"Limits" usage:"‹SIZE› of the memory of a robot" example:"256MiB"`
	CPU      time.Duration `key:"run-cpu" group:"Limits" usage:"processor ‹TIME› of a run" example:"10m"`
	Wall     time.Duration `key:"run-time" group:"Limits" usage:"end a run after this ‹TIME›" example:"1h"`
	Read     Size          `key:"run-read" group:"Limits" usage:"‹SIZE› of all documents that a run may read" example:"4GiB"`
	Sent     Size          `key:"run-sent" group:"Limits" usage:"‹SIZE› of the results of a run, compressed" example:"1GiB"`
	Document Size          `key:"document-size" group:"Limits" usage:"largest ‹SIZE› of a document" example:"8MiB"`

	Keep    time.Duration `key:"keep-results" group:"What is kept" usage:"keep results for this ‹TIME› after the end of a run" example:"24h"`
	Results Size          `key:"results-size" group:"What is kept" usage:"largest ‹SIZE› of all results together; then the oldest are deleted" example:"8GiB"`

	Admin  `key:",squash"`
	Common `key:",squash"`
}

// NewAgenthost has the defaults of agenthost.
func NewAgenthost() *Agenthost {
	c := &Agenthost{
		Root: "/var/www/html", Dir: "/var/lib/agenthost", Index: "index.html", Extensions: agenthost.DefaultExtensions(), Serve: ":10434",
		Runs: 2, Memory: 256 << 20, CPU: 10 * time.Minute, Wall: time.Hour, Read: 4 << 30, Sent: 1 << 30, Document: 8 << 20,
		Keep: 24 * time.Hour, Results: 8 << 30, Admin: newAdmin(), Common: newCommon(),
	}
	c.Listen = "127.0.0.1:7872"
	return c
}

func (c *Agenthost) check(src *Source) error {
	for _, v := range []struct {
		key string
		bad bool
		say string
	}{
		{"base", c.Base == "", "is empty; use for example https://www.example.org/"},
		{"address", c.Address == "", "is empty; use for example atp://www.example.org:10434"},
		{"serve", !address(c.Serve), "is not an address with a port; use for example :10434"},
		{"runs-at-once", c.Runs < 1 || c.Runs > 64, "must be 1 to 64; use for example 2"},
		{"robot-memory", c.Memory < 1<<20 || c.Memory > 4<<30, "must be 1MiB to 4GiB; use for example 256MiB"},
		{"run-cpu", c.CPU < time.Second, "is under 1s; use for example 10m"},
		{"run-time", c.Wall < time.Second, "is under 1s; use for example 1h"},
		{"run-read", c.Read < 1, "must be 1 or more; use for example 4GiB"},
		{"run-sent", c.Sent < 1, "must be 1 or more; use for example 1GiB"},
		{"document-size", c.Document < 1, "must be 1 or more; use for example 8MiB"},
		{"keep-results", c.Keep < time.Minute, "is under 1m; use for example 24h"},
		{"results-size", c.Results < 1, "must be 1 or more; use for example 8GiB"},
		{"tls-cert", (c.TLSCert == "") != (c.TLSKey == ""), "needs tls-key, and tls-key needs tls-cert; use both, for example fullchain.pem and privkey.pem"},
	} {
		if v.bad {
			return src.Refuse(v.key, v.say)
		}
	}
	if _, err := c.allowed(); err != nil {
		return src.Refuse("allow-robot", "cannot be used: "+err.Error())
	}
	if _, err := c.headers(); err != nil {
		return src.Refuse("header", "cannot be used: "+err.Error())
	}
	if c.Server != "" && !src.Given("root") {
		c.Root = "" // the default is for sites without a server
	}
	return errors.Join(c.Common.check(src), c.Admin.check(src))
}

func (c *Agenthost) headers() (list []agenthost.Header, err error) {
	for _, entry := range c.Headers {
		h, err := agenthost.ParseHeader(entry)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

func (c *Agenthost) allowed() (list []agenthost.Robot, err error) {
	for _, entry := range c.Allow {
		entries := []string{entry}
		if name, ok := strings.CutPrefix(entry, "@"); ok {
			if entries, err = entriesIn(name); err != nil {
				return nil, err
			}
		}
		for _, entry := range entries {
			r, err := agenthost.ParseRobot(entry)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// maxEntries limits a file with entries of allow-robot, in bytes.
const maxEntries = 64 << 10

// entriesIn reads a file with entries of allow-robot, one a line. Empty lines, and those that begin
// with #, are none.
func entriesIn(name string) (list []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEntries+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxEntries)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list, nil
}

// Host returns the options of the Host. It must be called after Load, which checks the settings.
func (c *Agenthost) Host(stderr io.Writer) agenthost.Options {
	allowed, _ := c.allowed()
	headers, _ := c.headers()
	return agenthost.Options{
		Root: c.Root, Server: c.Server, Base: c.Base, Dir: c.Dir, RobotsFile: c.Robots, Index: c.Index, Extensions: c.Extensions, Headers: headers, Address: c.Address, Allowed: allowed,
		Runs: c.Runs, Memory: int64(c.Memory), CPU: c.CPU, Wall: c.Wall, Read: int64(c.Read), Sent: int64(c.Sent), Document: int64(c.Document),
		Keep: c.Keep, Results: int64(c.Results), Log: c.Logger(stderr),
	}
}

// TLS returns the configuration of atps, or nil if there is no certificate. The certificate is read
// again for each connection, so that it can be renewed.
func (c *Agenthost) TLS() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	load := func() (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("tls-cert %s: %w", c.TLSCert, err)
		}
		return &cert, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() }}, nil
}
