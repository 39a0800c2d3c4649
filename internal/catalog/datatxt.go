package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Entry is what is stored of one data.txt: an origin's own, or one nested in it. The zero Entry
// stands for a file that was never requested.
type Entry struct {
	Origin string `json:"origin"`
	// URL of the nested file that was requested; empty: the origin's /data.txt
	Asked string        `json:"asked,omitempty"`
	Visit crawl.VisitID `json:"visit"` // the newest visit that reported on the file
	// for each host, the newest visit that reported on the file; the latest is the first
	Visits  []DataTxtVisit `json:"told,omitempty"`
	URL     string         `json:"url"` // of the copy, after redirects
	Body    []byte         `json:"body,omitempty"`
	Fetched time.Time      `json:"fetched"` // when the copy was fetched
	Fresh   time.Duration  `json:"fresh"`   // the lifetime of the copy
	// why the newest copy was refused; the earlier copy stays
	Failed string `json:"failed,omitempty"`

	NoSnippet bool `json:"nosnippet,omitempty"` // its prose must not be shown
	// the copy must not be used after this time (unavailable_after)
	Until time.Time `json:"until,omitzero"`

	// Usage has the site's statements about the use of the copy.
	Usage usage.Statements `json:"usage,omitempty"`

	// AliasOf is the file that counts instead of this one while the origin is a mirror. AliasVisit
	// is the newest visit that reported whether it is one.
	AliasOf    string        `json:"alias_of,omitempty"`
	AliasVisit crawl.VisitID `json:"alias_visit,omitzero"`

	// Changed is when the effective content of the file last changed, by the clock of the process
	// that stores it. It is zero if it has not changed since this is recorded.
	Changed time.Time `json:"changed,omitzero"`
}

// Date sets Changed if the entry differs from the entry before.
func (e *Entry) Date(before *Entry, now time.Time) {
	if !bytes.Equal(e.Body, before.Body) || e.URL != before.URL || e.NoSnippet != before.NoSnippet || !e.Until.Equal(before.Until) ||
		e.AliasOf != before.AliasOf || !reflect.DeepEqual(e.Usage, before.Usage) {
		e.Changed = now
	} else if e.Changed.IsZero() {
		e.Changed = before.Fetched
	}
}

// DataTxtVisit is the newest visit to a host that reported on a data.txt. Only visits to the same
// host can be compared: each shard has its own numbers, and a redirect may lead to a host of
// another shard.
type DataTxtVisit struct {
	Host  canon.Host    `json:"host"`
	Visit crawl.VisitID `json:"visit"`
}

// maxDataTxtVisits limits the number of hosts that are remembered, because an origin may redirect
// to another host every day. A host that is no longer remembered counts as new.
const maxDataTxtVisits = 8

// tell records that a visit to a host reported on the file. ok is false if a newer visit to it has
// already done so.
func (e *Entry) tell(host canon.Host, visit crawl.VisitID) (ok bool) {
	visits := e.Visits
	// Entries of older versions have no Visits: there the last report came from the host of the
	// copy. Without a copy, it may have come from a host of another shard, and no visit can be
	// compared with it.
	if u, err := canon.Parse(e.URL); err == nil && visits == nil && !e.Visit.IsZero() {
		visits = []DataTxtVisit{{u.Host(), e.Visit}}
	}
	for _, t := range visits {
		if t.Host == host && visit.Compare(t.Visit) <= 0 {
			return false
		}
	}
	e.Visits = []DataTxtVisit{{host, visit}}
	for _, t := range visits {
		if t.Host != host && len(e.Visits) < maxDataTxtVisits {
			e.Visits = append(e.Visits, t)
		}
	}
	e.Visit = visit
	return true
}

// Key is the key of the Entry to which a received data.txt belongs: its origin, or the URL of a
// nested file. The two forms are always different.
func Key(p *crawl.Page) string {
	if p.Asked != "" {
		return string(p.Asked)
	}
	return p.Origin.String()
}

// Update applies the report of a visit and returns the entry to store. ok is false if nothing
// changes, because that visit or a newer one to the same host has already reported. If a file must
// be refused as a whole, the earlier copy stays (formats §5.4). If the site has no file any more,
// the copy no longer counts.
func Update(old Entry, p *crawl.Page, body []byte, token string) (e Entry, ok bool) {
	e = old
	if !e.tell(p.URL.Host(), p.Visit) {
		return old, false
	}
	e.Origin, e.Asked, e.Failed = p.Origin.String(), string(p.Asked), ""
	if p.Deleted != "" {
		e.URL, e.Body, e.Fetched, e.Fresh, e.NoSnippet, e.Until, e.Usage = "", nil, time.Time{}, 0, false, time.Time{}, nil
		return e, true
	}
	// The end was cut off in transit, and the remaining text does not show this.
	if p.Truncated && len(body) <= datatxt.MaxSize {
		e.Failed = "it is too long to be sent as one message"
		return e, true
	}
	next := Entry{Origin: e.Origin, URL: string(p.URL), Body: body}
	if _, err := next.parse(token); err != nil {
		e.Failed = err.Error()
		return e, true
	}
	e.URL, e.Body, e.Fetched, e.Fresh = string(p.URL), body, p.FetchedAt, p.Fresh
	e.NoSnippet, e.Until, e.Usage = p.Directives&crawl.NoSnippet != 0, p.UnavailableAfter, p.Usage
	return e, true
}

func (e *Entry) parse(token string) (*datatxt.File, error) {
	base, err := url.Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("data.txt of %s: %w", e.Origin, err)
	}
	return datatxt.Parse(e.Body, base, token)
}

// Rule returns the rule of the copy that forbids fetching a URL of its origin as part of a dataset,
// whatever document names the URL (formats §5.3). closed is false if no rule does.
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

// Live reports whether the copy may still be used. A copy that is out of date and cannot be renewed
// is used for 30 days (formats §5.1). The copy of a mirror is not used (formats §7).
func (e *Entry) Live(now time.Time) bool {
	return len(e.Body) > 0 && e.AliasOf == "" && (e.Until.IsZero() || now.Before(e.Until)) && now.Before(e.Fetched.Add(e.Fresh+datatxt.KeepExpired))
}

// plain converts a value to a form that encoding/json can write.
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

// Encode returns the stored form of an Entry.
func (e *Entry) Encode() ([]byte, error) { return json.Marshal(e) }

// Decode reads the stored form.
func Decode(b []byte) (e Entry, err error) {
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("catalogue entry: %w", err)
	}
	return e, nil
}
