package wellknown

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Limits of what is read of a security.txt and stored.
const (
	maxSecurityTxt = 32 << 10
	maxContacts    = 4
	maxContact     = 200 // bytes
)

// securityTxt reads an origin's security.txt (RFC 9116).
func securityTxt(r *request, a *crawl.Answer) (done bool) {
	m := &crawl.SecurityTxt{State: crawl.FileUnreadable}
	a.SecurityTxt = m
	if r.absent() {
		m.State = crawl.FileNone
		return true
	}
	switch m.Reason, done = r.unread(); {
	case m.Reason != "" || !done:
	case !r.accepted():
		m.Reason = "it is not text/plain"
	case r.got.Truncated:
		m.Reason = "it is larger than 32 KiB"
	default:
		m.Contacts, m.Expires = parseSecurityTxt(r.got.Body)
		if m.State = crawl.FileFound; len(m.Contacts) == 0 {
			m.State, m.Reason = crawl.FileUnreadable, "it has no usable Contact"
		}
	}
	return done
}

// contactURI matches contacts by which somebody can be reached.
var contactURI = regexp.MustCompile(`^(?i:https://|mailto:|tel:)[\w.~:/?#\[\]@!$&'()*+,;=%-]+$`)

// parseSecurityTxt returns the first usable contacts of a security.txt, and when it expires, if it
// says so. It skips lines that it does not understand, such as those of a signature.
func parseSecurityTxt(body []byte) (contacts []string, expires time.Time) {
	for line := range bytes.Lines(bytes.TrimPrefix(body, []byte("\ufeff"))) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "contact":
			if len(value) <= maxContact && len(contacts) < maxContacts && contactURI.MatchString(value) && !slices.Contains(contacts, value) {
				contacts = append(contacts, value)
			}
		case "expires":
			t, err := time.Parse(time.RFC3339, strings.ToUpper(value))
			if t = t.UTC(); err == nil && expires.IsZero() && t.Year() > 1970 && t.Year() <= 9999 {
				expires = t.Truncate(time.Second)
			}
		}
	}
	return contacts, expires
}
