// Package catalog is the dataset catalogue: what sites say of their open data, origin by origin, with where each record
// comes from. It keeps the files themselves and reads them anew for every answer: the records are derived, and a better
// reader shows at once.
package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// Entry is what is kept of one origin's /data.txt. The zero Entry is that of an origin never asked.
type Entry struct {
	Origin  string        `json:"origin"`
	Visit   crawl.VisitID `json:"visit"` // the newest visit that told of it
	URL     string        `json:"url"`   // where the copy came from, after redirects
	Body    []byte        `json:"body,omitempty"`
	Fetched time.Time     `json:"fetched"`          // the copy
	Fresh   time.Duration `json:"fresh"`            // its lifetime
	Failed  string        `json:"failed,omitempty"` // why the newest copy was refused; the one before stays
}

// Update takes in what a visit found and returns the entry to keep; ok is false when nothing changes, since a newer visit
// has told of it already. A file that must be refused as a whole leaves the copy before it in place (§5.4 of
// docs/formats.md); a site that has none any more says nothing any more.
func Update(old Entry, p *crawl.Page, body []byte, token string) (e Entry, ok bool) {
	if p.Visit.Compare(old.Visit) <= 0 {
		return old, false
	}
	e = old
	e.Origin, e.Visit, e.Failed = p.Origin.String(), p.Visit, ""
	if p.Deleted != "" {
		e.URL, e.Body, e.Fetched, e.Fresh = "", nil, time.Time{}, 0
		return e, true
	}
	next := Entry{URL: string(p.URL), Body: body}
	if _, err := next.parse(token); err != nil {
		e.Failed = err.Error()
		return e, true
	}
	e.URL, e.Body, e.Fetched, e.Fresh = string(p.URL), body, p.FetchedAt, p.Fresh
	return e, true
}

func (e *Entry) parse(token string) (*datatxt.File, error) {
	base, err := url.Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("data.txt of %s: %w", e.Origin, err)
	}
	return datatxt.Parse(e.Body, base, token)
}

// Live reports whether the copy is still to be used: an expired one that cannot be renewed stays for 30 days (§5.1).
func (e *Entry) Live(now time.Time) bool {
	return len(e.Body) > 0 && now.Before(e.Fetched.Add(e.Fresh+datatxt.KeepExpired))
}

// Datasets returns the records of the copy, as they concern the robot with that product token.
func (e *Entry) Datasets(token string) ([]crawl.DatasetInfo, error) {
	f, err := e.parse(token)
	if err != nil {
		return nil, err
	}
	f.Stamp(e.Fetched, e.Fresh)
	out := make([]crawl.DatasetInfo, 0, len(f.Datasets))
	for i := range f.Datasets {
		d := info(&f.Datasets[i], f)
		d.Origin = e.Origin // whose it is, wherever a redirect keeps the file
		out = append(out, d)
	}
	return out, nil
}

func info(d *datatxt.Dataset, f *datatxt.File) crawl.DatasetInfo {
	x := crawl.DatasetInfo{
		URLs: d.URLs, Name: d.Name, Title: d.Title, Description: d.Description, License: d.License, Type: d.Type,
		Rows: d.Rows, Cols: d.Cols, Source: d.Source, Line: d.Line, External: d.External, Allowed: d.Allowed,
		DataTxt: f.URL, Form: string(f.Form), FetchedAt: d.Fetched.UTC(), Expires: d.Expires.UTC(),
		Columns: []crawl.DatasetColumn{}, Extra: map[string]any{},
	}
	for _, c := range d.Columns {
		x.Columns = append(x.Columns, crawl.DatasetColumn{Name: c.Name, Type: c.Type, Description: c.Description})
	}
	for _, field := range d.Extra {
		x.Extra[field.Name] = plain(field.Value)
	}
	return x
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
