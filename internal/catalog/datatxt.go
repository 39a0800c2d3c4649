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

	// The file that counts in this one's place, while the origin is a mirror; and the newest visit that said whether it is.
	AliasOf    string        `json:"alias_of,omitempty"`
	AliasVisit crawl.VisitID `json:"alias_visit,omitzero"`
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

// Live reports whether the copy is still to be used: an expired one that cannot be renewed stays for 30 days (§5.1). That of a
// mirror is not (§7).
func (e *Entry) Live(now time.Time) bool {
	return len(e.Body) > 0 && e.AliasOf == "" && now.Before(e.Fetched.Add(e.Fresh+datatxt.KeepExpired))
}

// Claims returns the datasets of the copy, as they concern the robot with that product token.
func (e *Entry) Claims(token string) ([]crawl.DatasetClaim, error) {
	f, err := e.parse(token)
	if err != nil {
		return nil, err
	}
	f.Stamp(e.Fetched, e.Fresh)
	out := make([]crawl.DatasetClaim, 0, len(f.Datasets))
	for i := range f.Datasets {
		c := claim(&f.Datasets[i], f)
		c.Origin, c.N = e.Origin, i // whose it is, wherever a redirect keeps the file
		out = append(out, c)
	}
	return out, nil
}

func claim(d *datatxt.Dataset, f *datatxt.File) crawl.DatasetClaim {
	c := crawl.DatasetClaim{
		Kind: crawl.DatasetDataTxt, Document: f.URL, Form: string(f.Form), Line: d.Line,
		Title: d.Title, Description: d.Description, License: d.License, Type: d.Type, Source: d.Source,
		Rows: d.Rows, Cols: d.Cols, External: d.External, Allowed: d.Allowed, FetchedAt: d.Fetched.UTC(), Expires: d.Expires.UTC(),
		Extra: map[string]any{},
	}
	if !d.NameImplied {
		c.Name = d.Name // what is only implied gives way to what another document says
	}
	for _, u := range d.URLs {
		c.Files = append(c.Files, crawl.DatasetFile{URL: u})
	}
	for _, col := range d.Columns {
		c.Columns = append(c.Columns, crawl.DatasetColumn{Name: col.Name, Type: col.Type, Description: col.Description})
	}
	for _, field := range d.Extra {
		c.Extra[field.Name] = plain(field.Value)
	}
	return c
}

// Datasets returns the records of the copy alone.
func (e *Entry) Datasets(token string) ([]crawl.DatasetInfo, error) {
	claims, err := e.Claims(token)
	if err != nil {
		return nil, err
	}
	return Merge(claims), nil
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
