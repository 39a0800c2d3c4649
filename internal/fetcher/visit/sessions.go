package visit

import (
	"bytes"
	"crypto/sha256"
	"regexp"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Session ids in URLs. A site that keeps track of its visitors in the address gives each robot a
// new id with each page, and every page has endless addresses. The names of such parameters are
// known, but so are sites on which a parameter of that name chooses the page. So they are taken off
// the addresses of a host only once pages that differ in nothing else were the same several times,
// and never if such pages once were not.

// sessionName is a parameter that is known to carry session ids.
type sessionName struct {
	name  string // in lower case
	whole bool   // no more may follow in the name
	least int    // bytes of an id; names in common use for other things ask for more
}

var sessionNames = []sessionName{
	{"jsessionid", true, 4}, {"phpsessid", true, 4}, {"phpsessionid", true, 4}, {"aspsessionid", false, 4}, {"asp.net_sessionid", true, 4},
	{"oscsid", true, 8}, {"zenid", true, 8}, {"xtcsid", true, 8}, {"cfid", true, 4}, {"cftoken", true, 4}, {"sessid", true, 8}, {"sessionid", true, 8},
	{"session_id", true, 8}, {"session-id", true, 8}, {"sess_id", true, 8}, {"sid", true, 16}, {"session", true, 16}, {"sess", true, 16}, {"s", true, 32},
}

// isSession reports whether a parameter may be a session id.
func isSession(name, value string) bool {
	name = strings.ToLower(name)
	for _, s := range sessionNames {
		if name == s.name || !s.whole && strings.HasPrefix(name, s.name) {
			return len(value) >= s.least
		}
	}
	return false
}

// mayHaveSession is a cheap look for what isSession knows.
func mayHaveSession(pathQuery string) bool {
	for i := range len(pathQuery) {
		switch pathQuery[i] {
		case ';', '&', '?':
			rest := pathQuery[i+1:]
			if eq := strings.IndexByte(rest[:min(len(rest), 40)], '='); eq > 0 {
				switch rest[0] | 0x20 {
				case 'j', 'p', 'a', 'o', 'z', 'x', 'c', 's':
					return true
				}
			}
		}
	}
	return false
}

// withoutSession is a path with query without what may be session ids; the same where there are
// none.
func withoutSession(pathQuery string) string {
	if !mayHaveSession(pathQuery) {
		return pathQuery
	}
	path, query, hasQuery := strings.Cut(pathQuery, "?")
	drop := func(parts []string) []string {
		kept := parts[:0]
		for _, p := range parts {
			if name, value, ok := strings.Cut(p, "="); !ok || !isSession(name, value) {
				kept = append(kept, p)
			}
		}
		return kept
	}
	if strings.Contains(path, ";") {
		segments := strings.Split(path, "/")
		for i, s := range segments {
			first, params, ok := strings.Cut(s, ";")
			if ok {
				segments[i] = strings.Join(append([]string{first}, drop(strings.Split(params, ";"))...), ";")
			}
		}
		path = strings.Join(segments, "/")
	}
	if !hasQuery {
		return path
	}
	if params := drop(strings.Split(query, "&")); len(params) > 0 {
		return path + "?" + strings.Join(params, "&")
	}
	return path
}

// sessionless is a URL without what may be session ids. ok is false when it has none.
func sessionless(u canon.URL) (short canon.URL, ok bool) {
	pathQuery := u.PathQuery()
	without := withoutSession(pathQuery)
	if without == pathQuery {
		return u, false
	}
	short, err := u.Origin().URL(without)
	return short, err == nil && short != u
}

// sessionInText is a session id where a page's markup has one.
var sessionInText = regexp.MustCompile(`(?i)\b(?:jsessionid|phpsess(?:ion)?id|aspsessionid\w*|oscsid|zenid|xtcsid|cfid|cftoken|sess(?:ion)?[_-]?id|sid|sess|session|s)(?:=|%3d)[\w.~!*-]{4,}`)

// sessionDigest is the digest of a page in which session ids do not count, neither in links nor in
// fields of forms that repeat the id of the page's own address.
func sessionDigest(u canon.URL, body []byte) [sha256.Size]byte {
	body = sessionInText.ReplaceAll(body, nil)
	own := u.PathQuery()
	for _, part := range strings.FieldsFunc(own, func(r rune) bool { return r == ';' || r == '?' || r == '&' || r == '/' }) {
		if name, value, ok := strings.Cut(part, "="); ok && isSession(name, value) {
			body = bytes.ReplaceAll(body, []byte(value), nil)
		}
	}
	return sha256.Sum256(body)
}
