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

// Entry is what is kept of one data.txt: an origin's own, or one nested in it. The zero Entry
// stands for a file that was never asked for.
type Entry struct {
	Origin string `json:"origin"`
	// URL of the nested file that was asked for; empty: the origin's /data.txt
	Asked string        `json:"asked,omitempty"`
	Visit crawl.VisitID `json:"visit"` // the newest visit that reported on it
	// the newest visit to each host that reported on it, the latest first
	Visits  []DataTxtVisit `json:"told,omitempty"`
	URL     string         `json:"url"` // where the copy came from, after redirects
	Body    []byte         `json:"body,omitempty"`
	Fetched time.Time      `json:"fetched"` // the copy
	Fresh   time.Duration  `json:"fresh"`   // its lifetime
	// why the newest copy was refused; the copy before it stays
	Failed string `json:"failed,omitempty"`

	NoSnippet bool `json:"nosnippet,omitempty"` // none of its prose is to be shown
	// it asks not to be kept from then on (unavailable_after)
	Until time.Time `json:"until,omitzero"`

	// What is said of the use of the copy.
	Usage usage.Statements `json:"usage,omitempty"`

	// The file that counts instead of this one while the origin is a mirror, and the newest visit
	// that said whether it is one.
	AliasOf    string        `json:"alias_of,omitempty"`
	AliasVisit crawl.VisitID `json:"alias_visit,omitzero"`

	// When what counts of this file last changed, by the clock of whoever keeps it; zero: not since
	// that is noted.
	Changed time.Time `json:"changed,omitzero"`
}

// Date notes that what is kept now is not what was kept before, if it is not.
func (e *Entry) Date(before *Entry, now time.Time) {
	if !bytes.Equal(e.Body, before.Body) || e.URL != before.URL || e.NoSnippet != before.NoSnippet || !e.Until.Equal(before.Until) ||
		e.AliasOf != before.AliasOf || !reflect.DeepEqual(e.Usage, before.Usage) {
		e.Changed = now
	} else if e.Changed.IsZero() {
		e.Changed = before.Fetched
	}
}

// DataTxtVisit is the newest visit to a host that reported on a data.txt. Only visits to one host
// can be compared: each shard numbers its own, and a redirect may lead to a host of another shard.
type DataTxtVisit struct {
	Host  canon.Host    `json:"host"`
	Visit crawl.VisitID `json:"visit"`
}

// maxDataTxtVisits bounds the hosts that are remembered: an origin may redirect elsewhere every
// day. A host that is not remembered any more counts as new.
const maxDataTxtVisits = 8

// tell notes that a visit to a host reported on the file. ok is false when that is nothing new.
func (e *Entry) tell(host canon.Host, visit crawl.VisitID) (ok bool) {
	told := e.Visits
	// From before Told was kept: the last report came from where the copy came from. Without a
	// copy, it may have come from a host of another shard, and nothing can be compared with it.
	if u, err := canon.Parse(e.URL); err == nil && told == nil && !e.Visit.IsZero() {
		told = []DataTxtVisit{{u.Host(), e.Visit}}
	}
	for _, t := range told {
		if t.Host == host && visit.Compare(t.Visit) <= 0 {
			return false
		}
	}
	e.Visits = []DataTxtVisit{{host, visit}}
	for _, t := range told {
		if t.Host != host && len(e.Visits) < maxDataTxtVisits {
			e.Visits = append(e.Visits, t)
		}
	}
	e.Visit = visit
	return true
}

// Key is the key of the Entry that a data.txt handed over belongs to: its origin, or the URL of a
// nested file. The two never look alike.
func Key(p *crawl.Page) string {
	if p.Asked != "" {
		return string(p.Asked)
	}
	return p.Origin.String()
}

// Update takes in what a visit found and returns the entry to keep. ok is false when nothing
// changes, because that visit or a newer one to the same host has reported already. When a file
// must be refused as a whole, the copy before it stays (docs/formats.md §5.4). When a site
// has no file any more, nothing of it counts any more.
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
	// its end was cut off on the way here, and what is left does not show it
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
// whatever document names the URL (formats §5.3). closed is false when no rule does.
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

// Live reports whether the copy is still to be used. One that is out of date and cannot be renewed
// stays for 30 days (formats §5.1). The copy of a mirror is not used (formats §7).
func (e *Entry) Live(now time.Time) bool {
	return len(e.Body) > 0 && e.AliasOf == "" && (e.Until.IsZero() || now.Before(e.Until)) && now.Before(e.Fetched.Add(e.Fresh+datatxt.KeepExpired))
}

// plain turns a value into something that encoding/json writes.
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
