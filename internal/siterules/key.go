package siterules

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/pkg/canon"
)

// key says which URLs an entry is about.
type key struct {
	host   canon.HostPattern
	scheme string // empty: any
	port   int    // 0: any
	path   string // without a slash at the end; empty: all of the host
	text   string // as it is written
}

const keyWorks = "use for example docs.example.org, *.example.org or docs.example.org/api/"

// key reads the name of an entry. It returns false after a mistake.
func (r *reader) key(n *yaml.Node) (k key, ok bool) {
	k.text = n.Value
	bad := func(offset int, format string, args ...any) (key, bool) {
		r.Within(n, offset, "%q %s; %s", n.Value, fmt.Sprintf(format, args...), keyWorks)
		return k, false
	}
	if len(n.Value) > MaxText {
		return bad(0, "has more than %d bytes", MaxText)
	}
	rest := n.Value
	if scheme, after, found := strings.Cut(rest, "://"); found {
		if k.scheme = strings.ToLower(scheme); k.scheme != "http" && k.scheme != "https" {
			return bad(0, "has a scheme other than http and https")
		}
		rest = after
	}
	if i := strings.IndexAny(rest, `@?#\ `); i >= 0 {
		return bad(len(n.Value)-len(rest)+i, "contains %q; an entry is a host or a prefix of URLs", rest[i:i+1])
	}
	host, path, slash := strings.Cut(rest, "/")
	if strings.Contains(path, "*") {
		return bad(strings.LastIndex(n.Value, "*"), "has * in its path, which is a prefix; use include for globs")
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		port, err := strconv.Atoi(host[i+1:])
		if err != nil || port < 1 || port > 65535 {
			return bad(0, "has a port that is no number from 1 to 65535")
		}
		k.port, host = port, host[:i]
	}
	p, err := canon.ParseHostPattern(host)
	if err != nil || host == "" {
		return bad(0, "is not a site")
	}
	if p.IsOpen() {
		return bad(0, "covers every name below a public suffix")
	}
	k.host = p
	if slash && path != "" {
		u, err := canon.Parse("https://x.example/" + path)
		if err != nil {
			return bad(0, "has a path that is not valid")
		}
		k.path = strings.TrimSuffix(u.Path(), "/")
	}
	return k, true
}

// rank orders entries with the same host and path: a port before none, a scheme before none.
func (k *key) rank() (n int) {
	if k.port != 0 {
		n += 2
	}
	if k.scheme != "" {
		n++
	}
	return n
}

// id is equal for entries about the same URLs.
func (k *key) id() string {
	return fmt.Sprintf("%s %s %d %s", k.scheme, k.host, k.port, k.path)
}

// fits reports whether an entry whose host and path match a URL is about it.
func (k *key) fits(scheme string, port int) bool {
	return (k.scheme == "" || k.scheme == scheme) && (k.port == 0 || k.port == port)
}

// site is the key without its path.
func (k *key) site() string {
	scheme, rest, ok := strings.Cut(k.text, "://")
	if !ok {
		scheme, rest = "", k.text
	} else {
		scheme += "://"
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + host
}
