package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// Entry is what is kept of one data.txt: an origin's own, or one nested in it. The zero Entry is that of one never asked for.
type Entry struct {
	Origin  string        `json:"origin"`
	Asked   string        `json:"asked,omitempty"` // the nested file that was asked for; empty: the origin's /data.txt
	Visit   crawl.VisitID `json:"visit"`           // the newest visit that told of it
	URL     string        `json:"url"`             // where the copy came from, after redirects
	Body    []byte        `json:"body,omitempty"`
	Fetched time.Time     `json:"fetched"`          // the copy
	Fresh   time.Duration `json:"fresh"`            // its lifetime
	Failed  string        `json:"failed,omitempty"` // why the newest copy was refused; the one before stays

	NoSnippet bool      `json:"nosnippet,omitempty"` // none of its prose is to be shown
	Until     time.Time `json:"until,omitzero"`      // it asks not to be kept from then on (unavailable_after)

	// The file that counts in this one's place, while the origin is a mirror; and the newest visit that said whether it is.
	AliasOf    string        `json:"alias_of,omitempty"`
	AliasVisit crawl.VisitID `json:"alias_visit,omitzero"`
}

// Key is what the Entry is kept under that a data.txt handed over belongs to. No origin is the URL of a nested file.
func Key(p *crawl.Page) string {
	if p.Asked != "" {
		return string(p.Asked)
	}
	return p.Origin.String()
}

// Update takes in what a visit found and returns the entry to keep; ok is false when nothing changes, since a newer visit
// has told of it already. A file that must be refused as a whole leaves the copy before it in place (§5.4 of
// docs/formats.md); a site that has none any more says nothing any more.
func Update(old Entry, p *crawl.Page, body []byte, token string) (e Entry, ok bool) {
	if p.Visit.Compare(old.Visit) <= 0 {
		return old, false
	}
	e = old
	e.Origin, e.Asked, e.Visit, e.Failed = p.Origin.String(), string(p.Asked), p.Visit, ""
	if p.Deleted != "" {
		e.URL, e.Body, e.Fetched, e.Fresh, e.NoSnippet, e.Until = "", nil, time.Time{}, 0, false, time.Time{}
		return e, true
	}
	if p.Truncated && len(body) <= datatxt.MaxSize { // its end was cut off on the way here, and nobody could tell by what is left
		e.Failed = "it is too long to be handed over whole"
		return e, true
	}
	next := Entry{Origin: e.Origin, URL: string(p.URL), Body: body}
	if _, err := next.parse(token); err != nil {
		e.Failed = err.Error()
		return e, true
	}
	e.URL, e.Body, e.Fetched, e.Fresh = string(p.URL), body, p.FetchedAt, p.Fresh
	e.NoSnippet, e.Until = p.Directives&crawl.NoSnippet != 0, p.UnavailableAfter
	return e, true
}

func (e *Entry) parse(token string) (*datatxt.File, error) {
	base, err := url.Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("data.txt of %s: %w", e.Origin, err)
	}
	return datatxt.Parse(e.Body, base, token)
}

// Rule returns the rule of the copy that closes a URL of its origin to fetches of datasets, whatever document tells of it (§5.3);
// closed is false when none does.
func (e *Entry) Rule(token string, u canon.URL) (rule crawl.DataRule, closed bool, err error) {
	if u.Origin().String() != e.Origin {
		return rule, false, nil
	}
	f, err := e.parse(token)
	if err != nil {
		return rule, false, err
	}
	allowed, line := f.Allowed(u.Path())
	return crawl.DataRule{Document: f.URL, Line: line}, !allowed, nil
}

// Live reports whether the copy is still to be used: an expired one that cannot be renewed stays for 30 days (§5.1). That of a
// mirror is not (§7).
func (e *Entry) Live(now time.Time) bool {
	return len(e.Body) > 0 && e.AliasOf == "" && (e.Until.IsZero() || now.Before(e.Until)) && now.Before(e.Fetched.Add(e.Fresh+datatxt.KeepExpired))
}

// plain turns a value into what JSON has for it.
func plain(v datatxt.Value) any {
	switch {
	case v.List != nil:
		list := make([]any, len(v.List))
		for i := range v.List {
			list[i] = plain(v.List[i])
		}
		return list
	case v.Map != nil:
		m := make(map[string]any, len(v.Map))
		for _, field := range v.Map {
			m[field.Name] = plain(field.Value)
		}
		return m
	}
	return v.Text
}

// Encode is the form an Entry is stored in.
func (e *Entry) Encode() ([]byte, error) { return json.Marshal(e) }

// Decode reads what Encode wrote.
func Decode(b []byte) (e Entry, err error) {
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("catalogue entry: %w", err)
	}
	return e, nil
}
