package visit

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What is read of a security.txt, and kept of it.
const (
	maxSecurityTxt = 32 << 10
	maxContacts    = 4
	maxContact     = 200 // bytes
)

// doSecurityTxt asks an origin for its security.txt. Its robots.txt is obeyed, and one redirect is
// followed that stays on it: RFC 9116 knows of files at /security.txt.
func doSecurityTxt(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	m := &crawl.SecurityTxt{State: crawl.FileUnreadable}
	a.SecurityTxt = m
	t := Trail{At: e.URL, Most: 1, within: e.Origin}
	t.May = func(u canon.URL) bool {
		m.Reason, done = v.mayAsk(u)
		return done && m.Reason == ""
	}
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) {
		return v.ask(u, nil, func(status int, h http.Header) wire.Wanted {
			if status != http.StatusOK || mediaType(contentType(h)) != "text/plain" {
				return wire.Wanted{}
			}
			return wire.Wanted{Limit: maxSecurityTxt}
		})
	}
	got, end, err := t.Follow(v.job.Host)
	switch media := mediaType(contentType(got.Header)); {
	case end == TrailBarred:
	case err != nil:
		fail := v.failureOf(err)
		m.Reason, done = fail.String(), !fail.Unsent
	case end != TrailArrived:
		m.Reason = "it redirects elsewhere"
	case got.Status == http.StatusNotFound || got.Status == http.StatusGone:
		m.State = crawl.FileNone
	case got.Status != http.StatusOK:
		if overloaded(got.Status) {
			v.overload(got)
		}
		m.Reason = statusText(&got)
	case media != "text/plain":
		m.Reason = "it is not text/plain"
	case got.Truncated:
		m.Reason = "it is larger than 32 KiB"
	default:
		m.Contacts, m.Expires = parseSecurityTxt(got.Body)
		if m.State = crawl.FileFound; len(m.Contacts) == 0 {
			m.State, m.Reason = crawl.FileUnreadable, "it has no usable Contact"
		}
	}
	return done
}

// contactURI is what a contact looks like that somebody can be reached by.
var contactURI = regexp.MustCompile(`^(?i:https://|mailto:|tel:)[\w.~:/?#\[\]@!$&'()*+,;=%-]+$`)

// parseSecurityTxt returns the first usable contacts of a security.txt, and when it expires, if it
// says so. A line that it does not understand is skipped, those of a signature among them.
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
