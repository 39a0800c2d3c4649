// Package feed keeps other systems in step with the stored pages of a crawl: search servers,
// databases, queues, files. What was stored, changed or deleted since the last acknowledged
// position is sent again until the other side has it: at least once, in order for each page, with
// versions that make a repetition harmless.
//
// A Feeder reads the changes of each shard from the indexer that stores the shard, writes them to a
// Sink, and acknowledges them. The indexer has the position, in the file of the pages. The Feeder
// keeps nothing, so both may be killed anywhere:
//
//	killed before           what happens when they run again
//	Sink.Write              nothing was sent
//	a refusal is stored     the changes are sent again, with the same versions
//	the acknowledgement     likewise; refused changes are in their file twice
//	the answer to it        the acknowledgement comes a second time, and changes nothing
//	Sink.Sweep              it runs again
//
// Package sinks has the sinks, by the scheme of their URLs.
package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Change is a page to be stored or deleted at the other side.
type Change struct {
	// ID identifies the page: export.DocumentID of its URL.
	ID string
	// Version grows with each change of the page, also when its store was lost and begins again.
	// A sink that holds a version that is at least as new keeps it.
	Version int64
	// Row is the page as `curtsy export pages` shows it. With Row.Removed the page is to be
	// deleted. The row of a forgotten page has no URL.
	Row crawl.PageRow
	// Fields are the fields of Row that are passed on, by their names in JSON. Nil: all of them.
	Fields []string
}

// JSON is the row as a line of `curtsy export pages`, without a line feed. It has only Fields. A
// page that is to be deleted has no other fields than url, fetched_at and removed.
func (c *Change) JSON() ([]byte, error) {
	if c.Row.Removed != "" {
		return encode(struct {
			URL       string `json:"url,omitempty"`
			FetchedAt any    `json:"fetched_at,omitempty"`
			Removed   string `json:"removed"`
		}{c.Row.URL, dateOf(&c.Row), c.Row.Removed})
	}
	all, err := encode(&c.Row.PageRecord)
	if err != nil || c.Fields == nil {
		return all, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(all, &fields); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range c.Fields {
		v, there := fields[name]
		if !there {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Line is JSON with the id and the version of the change before the other fields. It has no line
// feed.
func (c *Change) Line() ([]byte, error) {
	row, err := c.JSON()
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(make([]byte, 0, len(row)+120), `{"id":%q,"version":%d`, c.ID, c.Version)
	if len(row) == len("{}") {
		return append(line, '}'), nil
	}
	return append(append(line, ','), row[1:]...), nil
}

// dateOf is when a page was fetched, nil if that is not known.
func dateOf(r *crawl.PageRow) any {
	if r.FetchedAt.IsZero() {
		return nil
	}
	return r.FetchedAt
}

// encode is json.Marshal without the escapes for HTML, because URLs are full of ampersands.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(crawl.SafeJSON(b.Bytes()), []byte("\n")), nil
}

// Batch has changes of one shard, in order. No page is in it twice.
type Batch struct {
	Crawl string
	Shard int
	// Generation is the part of the versions that changes when the shard is sent again from its
	// beginning. Documents carry crawl, shard and generation for Sweep.
	Generation int64
	Changes    []Change
}

// Refused is a change that the other side will never accept.
type Refused struct {
	Change *Change
	Reason string
}

// Sink is another system. Its methods are called by one goroutine for each shard at the same time.
type Sink interface {
	// Prepare creates what is missing at the other side: an index, a table, a stream, a folder. It
	// is called before the first Write, and again when the fields of the site rules change.
	Prepare(ctx context.Context, fields []siterules.FieldInfo) error
	// Write stores and deletes. An error means that the batch may not have arrived, or only a part
	// of it, and must be sent again; *Permanent says that sending it again will not help. Changes
	// that are refused for good are returned, and all others are stored.
	Write(ctx context.Context, b Batch) ([]Refused, error)
	// Sweep deletes the documents of a crawl's shard that are of an earlier generation. It is
	// called when all pages of the shard were sent in this one, and may run twice.
	Sweep(ctx context.Context, crawlName string, shard int, generation int64) error
	Close() error
}

// Permanent is an error that an operator must mend: a wrong password, a missing index, a wrong URL.
// It says what to do. The feed waits longer before it tries again.
type Permanent struct{ Err error }

// Error is the text of the cause.
func (p *Permanent) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Permanent) Unwrap() error { return p.Err }

// Later is a passing failure after which the other side asks not to be tried again at once.
type Later struct {
	Err   error
	After time.Duration // 0: it does not say how long
}

// Error is the text of the cause.
func (l *Later) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *Later) Unwrap() error { return l.Err }
