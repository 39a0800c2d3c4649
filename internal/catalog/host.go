package catalog

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// hostOf returns the host of an absolute URL, without port, in lower case, or "".
func hostOf(s string) string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		rest = rest[:i]
	}
	return strings.ToLower(rest)
}

// hosts returns the hosts for which a claim speaks; the first one is its author. A document speaks
// for its own host. A data.txt speaks for the origin from which it was requested, wherever a
// redirect leads. If that redirect leads to another host's own /data.txt, it speaks for that host
// as well.
func hosts(c *crawl.DatasetClaim) (own [2]string) {
	own[0] = hostOf(c.Document)
	if c.Kind != crawl.DatasetDataTxt {
		return own
	}
	origin := hostOf(c.Origin)
	switch {
	case origin == own[0]:
	case strings.HasSuffix(c.Document, "/data.txt") && strings.Count(c.Document, "/") == 3:
		own[1] = origin
	default:
		own[0] = origin
	}
	return own
}

// speaksFor reports whether a claim is a statement of this host itself.
func (m *merger) speaksFor(c *crawl.DatasetClaim, host string) bool {
	if host == "" {
		return false
	}
	own := hosts(c)
	return slices.Contains(own[:], host)
}

// said returns a key by which claims are joined. If the claim is a statement of the thing's own
// host, the key is the thing alone. Otherwise the key is the thing together with the site that
// makes the claim, so that it joins only with claims of that site.
func (m *merger) said(c *crawl.DatasetClaim, thing, host string) string {
	if m.speaksFor(c, host) {
		return thing
	}
	return thing + " as of " + hosts(c)[0]
}
