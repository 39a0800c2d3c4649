package agentserver

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/curtsy/curtsy/internal/mobile/reading"
)

// Read does what the page reader of a crawl does: it sends a record for each document, and the
// counts. The documents are in the order of their paths. It ends with an error of emit.
func Read(in reading.Input, docs []Document, emit func(record []byte) error) (reading.Counts, error) {
	counts := reading.Counts{Listed: int64(len(docs))}
	var list []byte
	for _, d := range docs {
		if !in.Accepts(d.Type) {
			counts.LeftOut++
			continue
		}
		known := in.Known.Has(reading.KnownHash(d.Path, reading.Digest(d.body(in))))
		if !known && in.MaxPages > 0 && counts.Sent >= in.MaxPages {
			counts.LeftOut++
			continue
		}
		head := d.head(in)
		if known && head.Plain() {
			counts.Unchanged++
			longer, ok := reading.AppendUnchanged(list, d.Path)
			if !ok {
				if err := emit(list); err != nil {
					return counts, err
				}
				longer, _ = reading.AppendUnchanged(nil, d.Path)
			}
			list = longer
			continue
		}
		r := reading.Record{Kind: reading.Document, Path: d.Path, Head: head, Body: d.body(in)}
		switch {
		case known:
			r.Kind, r.Body = reading.Unchanged, nil
			counts.Unchanged++
		case d.closed(in.Token):
			r.Kind, r.Body = reading.Skeleton, skeleton(d.Body)
			counts.Sent++
		default:
			counts.Sent++
		}
		if err := emit(r.Append(nil)); err != nil {
			return counts, err
		}
	}
	if len(list) > 0 {
		if err := emit(list); err != nil {
			return counts, err
		}
	}
	return counts, emit(counts.Append(nil))
}

// body is what is sent of the body.
func (d Document) body(in reading.Input) []byte { return d.Body[:min(int64(len(d.Body)), in.MaxSize)] }

// head returns the head as a host gives it to robots.
func (d Document) head(in reading.Input) reading.Head {
	b := []byte("Status: 200\n")
	if d.Type != "" {
		b = fmt.Appendf(b, "Content-Type: %s\n", d.Type)
	}
	b = fmt.Appendf(b, "Content-Length: %d\n", len(d.Body))
	for _, line := range d.Header {
		b = append(append(b, line...), '\n')
	}
	if int64(len(d.Body)) > in.MaxSize {
		b = append(b, reading.TruncatedLine+": yes\n"...)
	}
	return b
}

var (
	noindexMeta = regexp.MustCompile(`(?is)<meta[^>]+name="?(robots|[a-z_-]+)"?[^>]+noinde(?:x|&#120;)`)
	comments    = regexp.MustCompile(`(?s)<!--.*?-->`)
	needed      = regexp.MustCompile(`(?is)<(?:meta|base|link|a|area|frame|iframe)\b[^>]*>`)
)

// closed reports whether a tag in the head of the page forbids to index it. Header lines are left
// to the crawl, which sees them too.
func (d Document) closed(token string) bool {
	if !strings.HasPrefix(d.Type, "text/html") {
		return false
	}
	head, _, _ := strings.Cut(string(comments.ReplaceAll(d.Body, nil)), "<body")
	for _, m := range noindexMeta.FindAllStringSubmatch(head, -1) {
		if strings.EqualFold(m[1], "robots") || strings.EqualFold(m[1], token) {
			return true
		}
	}
	return false
}

// skeleton returns the elements of a page that a crawl needs if it may not index the page.
func skeleton(body []byte) []byte {
	var out []byte
	for _, tag := range needed.FindAll(comments.ReplaceAll(body, nil), -1) {
		out = append(append(out, tag...), '\n')
	}
	return out
}
