package page

import (
	"crypto/sha256"
	"regexp"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Session ids in URLs. A site that tracks its visitors in the URL gives a robot a new id with each
// page, so every page has endless URLs. The names of such parameters are known, but on some sites a
// parameter of that name chooses the page. So the ids are removed from the URLs of a host only
// after the page without an id was fetched and was the same, and so were several with other ids.
// They are never removed if such pages differed once, or if there is no page without an id.

// sessionName is a parameter that is known to carry session ids.
type sessionName struct {
	name  string // in lower case
	whole bool   // the name ends here
	least int    // bytes of an id; it is more for names that are also used for other things
}

var sessionNames = []sessionName{
	{"jsessionid", true, 4}, {"phpsessid", true, 4}, {"phpsessionid", true, 4}, {"aspsessionid", false, 4}, {"asp.net_sessionid", true, 4},
	{"oscsid", true, 8}, {"zenid", true, 8}, {"xtcsid", true, 8}, {"cfid", true, 4}, {"cftoken", true, 4}, {"sessid", true, 8}, {"sessionid", true, 8},
	{"session_id", true, 8}, {"session-id", true, 8}, {"sess_id", true, 8}, {"sid", true, 16}, {"session", true, 16}, {"sess", true, 16},
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

// mayHaveSession is a cheap test for what isSession knows.
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

// withoutSession returns a path with query without parameters that may be session ids.
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

// sessionless returns a URL without parameters that may be session ids. ok is false if it has none.
func sessionless(u canon.URL) (short canon.URL, ok bool) {
	pathQuery := u.PathQuery()
	without := withoutSession(pathQuery)
	if without == pathQuery {
		return u, false
	}
	short, err := u.Origin().URL(without)
	return short, err == nil && short != u
}

// What may be a session id in the markup of a page: in a URL, and in a field of a form.
var (
	idsFirst    = regexp.MustCompile(`\?(?:` + idInURL + `(?:&amp;|&))+`) // others follow
	ids         = regexp.MustCompile(`(?:&amp;|[?;&])` + idInURL)
	fields      = regexp.MustCompile(`(?i)<input\b[^>]*\bhidden\b[^>]*>`)
	nameOfField = regexp.MustCompile(`(?i)\bname\s*=\s*["']?([\w.-]+)`)
)

const idInURL = `(?i:jsessionid|phpsess(?:ion)?id|aspsessionid\w*|asp\.net_sessionid|oscsid|zenid|xtcsid|cfid|cftoken|sess(?:ion)?[_-]?id|sid|sess|session)=[\w.~!*%-]{4,}`

// sessionDigest returns the digest of a page without the session ids in its URLs and in hidden
// fields of its forms.
func sessionDigest(body []byte) [sha256.Size]byte {
	body = idsFirst.ReplaceAllLiteral(body, []byte("?"))
	body = ids.ReplaceAllLiteral(body, nil)
	body = fields.ReplaceAllFunc(body, func(field []byte) []byte {
		if m := nameOfField.FindSubmatch(field); m != nil && isSession(string(m[1]), longID) {
			return nil
		}
		return field
	})
	return sha256.Sum256(body)
}

// longID is as long as any session id must be.
const longID = "0123456789abcdef0123456789abcdef"
