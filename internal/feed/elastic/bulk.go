package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/feed"

	"github.com/dustin/go-humanize"
)

// A part that a server cannot take now is tried so many times before Write returns an error. The
// feed then waits longer.
const (
	mostTries    = 6
	shortestWait = 500 * time.Millisecond
	longestWait  = 30 * time.Second
)

// origin is where a document comes from. Sweep finds it by crawl, shard and generation.
type origin struct {
	Host       string `json:"host"`
	Crawl      string `json:"crawl"`
	Shard      int    `json:"shard"`
	Generation int64  `json:"generation"`
}

// item is a change in the form of _bulk: one line to delete, two to store.
type item struct {
	change *feed.Change
	lines  []byte
}

// Write sends a batch in as many parts as its size needs. It waits and tries again for items that a
// busy server rejects.
func (s *Sink) Write(ctx context.Context, b feed.Batch) (refused []feed.Refused, err error) {
	var part []item
	size := int64(0)
	flush := func() error {
		r, err := s.send(ctx, part)
		refused = append(refused, r...)
		part, size = nil, 0
		return err
	}
	for i := range b.Changes {
		c := &b.Changes[i]
		lines, err := encode(&b, c)
		if err != nil {
			refused = append(refused, feed.Refused{Change: c, Reason: err.Error()})
			continue
		}
		limit, n := s.part.Load(), int64(len(lines))
		if n > limit {
			refused = append(refused, feed.Refused{Change: c, Reason: s.tooLarge(n, limit)})
			continue
		}
		if size+n > limit {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		part, size = append(part, item{c, lines}), size+n
	}
	if len(part) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

func (s *Sink) tooLarge(n, limit int64) string {
	return fmt.Sprintf("the document has %s, and a request to %s may have %s (part=SIZE in the URL, and http.max_content_length of the server)",
		humanize.IBytes(uint64(n)), s.server, humanize.IBytes(uint64(limit)))
}

// encode makes the lines of a change.
func encode(b *feed.Batch, c *feed.Change) ([]byte, error) {
	type target struct {
		ID      string `json:"_id"`
		Version int64  `json:"version"`
		Type    string `json:"version_type"`
	}
	action := "index"
	if c.Row.Removed != "" {
		action = "delete"
	}
	lines, err := json.Marshal(map[string]target{action: {c.ID, c.Version, "external_gte"}})
	if lines = append(lines, '\n'); err != nil || action == "delete" {
		return lines, err
	}
	o := origin{Crawl: b.Crawl, Shard: b.Shard, Generation: b.Generation}
	if u, err := url.Parse(c.Row.URL); err == nil {
		o.Host = u.Hostname()
	}
	from, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	row, err := c.JSON()
	if err != nil {
		return nil, err
	}
	lines = append(lines, from[:len(from)-1]...) // both are objects, and become one
	if rest := row[1:]; len(rest) > 1 {
		lines = append(append(lines, ','), rest...)
	} else {
		lines = append(lines, '}')
	}
	return append(lines, '\n'), nil
}

// send sends a part until every item of it is stored or refused.
func (s *Sink) send(ctx context.Context, part []item) (refused []feed.Refused, err error) {
	wait := backoff.Delay{Least: shortestWait, Most: longestWait}
	for try := 1; ; try++ {
		a, err := s.post(ctx, part)
		if err != nil {
			return nil, err
		}
		if a.status == http.StatusRequestEntityTooLarge {
			return s.halve(ctx, part, refused)
		}
		var busy error
		switch {
		case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
			busy = s.failed("_bulk", a)
		case a.status != http.StatusOK:
			return nil, s.failed("_bulk", a)
		default:
			var r []feed.Refused
			if part, r, busy, err = s.read(part, a); err != nil {
				return nil, err
			}
			refused = append(refused, r...)
		}
		if busy == nil {
			return refused, nil
		}
		if try == mostTries {
			return nil, fmt.Errorf("%w (tried %d times)", busy, try)
		}
		if err := backoff.Sleep(ctx, max(wait.Next(), a.retryAfter())); err != nil {
			return nil, err
		}
	}
}

// halve sends both halves of a part that is too large for the server, and makes later parts
// smaller. Refused are the items of the part that were refused before.
func (s *Sink) halve(ctx context.Context, part []item, refused []feed.Refused) ([]feed.Refused, error) {
	size := int64(0)
	for _, i := range part {
		size += int64(len(i.lines))
	}
	if len(part) == 1 {
		return append(refused, feed.Refused{Change: part[0].change, Reason: s.tooLarge(size, size-1)}), nil
	}
	if smaller := max(size/2, LeastPart); smaller < s.part.Load() {
		s.part.Store(smaller)
		s.log.Warn("the server refuses requests of this size, so they become smaller", "server", s.server, "bytes", size, "part", smaller)
	}
	for _, half := range [][]item{part[:len(part)/2], part[len(part)/2:]} {
		r, err := s.send(ctx, half)
		if err != nil {
			return nil, err
		}
		refused = append(refused, r...)
	}
	return refused, nil
}

func (s *Sink) post(ctx context.Context, part []item) (*answer, error) {
	var body bytes.Buffer
	for _, i := range part {
		body.Write(i.lines)
	}
	path := "/" + s.index + "/_bulk"
	if s.isAlias.Load() {
		path += "?require_alias=true" // so that a server does not make an index without our mapping
	}
	return s.do(ctx, http.MethodPost, path, "application/x-ndjson", body.Bytes())
}

// result is what a server answers for an item.
type result struct {
	ID     string `json:"_id"`
	Status int    `json:"status"`
	Error  *cause `json:"error"`
}

// read finds out what became of the items of a part. It returns those that are to be sent again,
// with the reason as busy, and those that were refused.
func (s *Sink) read(part []item, a *answer) (again []item, refused []feed.Refused, busy, err error) {
	var r struct {
		Items []map[string]result `json:"items"`
	}
	if err := json.Unmarshal(a.body, &r); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: the answer to _bulk cannot be read: %w", s.server, err)
	}
	if len(r.Items) != len(part) {
		return nil, nil, nil, fmt.Errorf("%s: _bulk has answered for %d of %d items", s.server, len(r.Items), len(part))
	}
	for n, i := range part {
		var one result
		for _, one = range r.Items[n] { // there is one
		}
		if one.ID != i.change.ID {
			return nil, nil, nil, fmt.Errorf("%s: _bulk has answered for %.80q and not for %q", s.server, one.ID, i.change.ID)
		}
		switch fails := one.Error; {
		case one.Status == http.StatusOK || one.Status == http.StatusCreated:
		case one.Status == http.StatusConflict: // the server has a newer version
		case one.Status == http.StatusNotFound && fails == nil: // it was deleted already
		case fails == nil:
			again, busy = append(again, i), fmt.Errorf("%s: _bulk: an item has the status %d", s.server, one.Status)
		case one.Status == http.StatusTooManyRequests || one.Status >= 500:
			again, busy = append(again, i), fmt.Errorf("%s: _bulk: status %d, %s", s.server, one.Status, fails)
		case one.Status == http.StatusBadRequest || one.Status == http.StatusRequestEntityTooLarge:
			refused = append(refused, feed.Refused{Change: i.change, Reason: fails.String()})
		default: // a missing index, a block, a missing privilege: the same for all items
			body, _ := json.Marshal(map[string]any{"error": fails})
			return nil, nil, nil, s.failed("_bulk", &answer{status: one.Status, body: body})
		}
	}
	return again, refused, busy, nil
}
