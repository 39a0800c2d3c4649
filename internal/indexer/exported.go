package indexer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/pkg/usage"
)

// export sends a string for everything that is written as it is, and an object for every line of
// JSON. Pages that forbid quotation come without their content, unless r.All is true: then the
// asker is responsible for what it shows.
func (a answers) export(ctx context.Context, r crawl.ExportQuery, send func(any) error) error {
	x := exported{exporter: exporter{limit: a.limit}, ExportQuery: r, send: send, left: crawl.LeftOut{Pages: map[string]int64{}}}
	var err error
	if x.purposes, err = usage.ParsePurposes(r.For); err != nil {
		return err
	}
	if x.one, err = x.format(); err != nil {
		return err
	}
	now := time.Now()
	for _, p := range a.parts() {
		walk := p.store.EachWithBody
		if !r.Since.IsZero() {
			walk = func(fn func(pages.Page) error) error { return p.store.EachSince(r.Since, fn) }
		}
		err := walk(func(page pages.Page) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.hidden(page.URL) {
				return nil
			}
			return x.page(p, &page, now)
		})
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	if len(x.left.Pages)+len(x.left.Usage) == 0 {
		return nil
	}
	return send(x.left)
}

// exported is one running export.
type exported struct {
	exporter
	crawl.ExportQuery
	purposes []usage.Purpose
	one      func(in part, p *pages.Page) error // it sends a page
	send     func(any) error
	left     crawl.LeftOut
}

// format returns how a page is sent.
func (x *exported) format() (func(in part, p *pages.Page) error, error) {
	what, format := cmp.Or(x.What, "pages"), cmp.Or(x.Format, "jsonl")
	content := map[string]string{"jsonl": "text", "markdown": "markdown", "source": "html"}[format]
	switch {
	case what == "pages" && format == "chunks":
		return x.chunks, nil
	case what == "pages" && content != "":
		return func(in part, p *pages.Page) error {
			rec := x.record(in, p, content, x.All)
			countLeftOut(x.left, rec.Withheld)
			return x.send(rec)
		}, nil
	case what == "pages" && (format == "text" || format == "html"):
		return func(in part, p *pages.Page) error {
			rec := x.record(in, p, format, x.All)
			if rec.Withheld != "" {
				countLeftOut(x.left, rec.Withheld)
				return nil
			}
			return x.send(document(rec, format))
		}, nil
	case what == "links" && format == "jsonl":
		return func(in part, p *pages.Page) error {
			if !x.Since.IsZero() {
				if err := x.remove(p, crawl.LinksChanged); err != nil {
					return err
				}
			}
			return x.links(in, p, x.send)
		}, nil
	case what == "links" && format == grouped:
		return x.grouped, nil
	}
	return nil, fmt.Errorf("export %q as %q: use pages as jsonl, markdown, source, chunks, text or html, or links as jsonl or grouped", what, format)
}

// page sends a page. If only changes are requested, it sends for a page that no longer belongs to
// the export that it was removed.
func (x *exported) page(in part, p *pages.Page, now time.Time) error {
	if p.Deleted == crawl.ReasonForgotten { // its name is not sent any more
		return nil
	}
	removed, use := x.removed(p, now)
	if use {
		x.left.Add(crawl.LeftOut{Usage: map[string]int64{removed: 1}})
	}
	switch {
	case removed == "":
		return x.one(in, p)
	case x.Since.IsZero():
		return nil
	}
	return x.remove(p, removed)
}

// removed returns why a page does not belong to the export, "" if it does. use reports that its
// site does not allow the purposes of the export.
func (x *exported) removed(p *pages.Page, now time.Time) (why string, use bool) {
	switch {
	case p.Deleted != "":
		return string(p.Deleted), false
	case p.AliasOf != "":
		return string(crawl.ReasonMirror), false
	case p.Expired(now):
		return "unavailable_after", false
	}
	why = notFor(p, x.purposes, x.UnknownToo)
	return why, why != ""
}

// remove sends that a page, or its links, no longer belong to the export.
func (x *exported) remove(p *pages.Page, why string) error {
	switch {
	case x.What == "links" && x.Format == grouped:
		return x.send(crawl.PageLinks{From: string(p.URL), Removed: why})
	case x.What == "links":
		return x.send(crawl.LinkRow{From: string(p.URL), Removed: why})
	case x.Format == "text" || x.Format == "html": // these formats cannot express it
		x.left.Pages[crawl.PagesGone]++
		return nil
	}
	return x.send(crawl.PageRemoved{URL: string(p.URL), FetchedAt: p.FetchedAt, Removed: why})
}

// grouped is the format of links with one object for each page.
const grouped = "grouped"

// grouped sends the links of a page in one object, as many as fit into a message. A page without
// links is sent only if an earlier export may have had some.
func (x *exported) grouped(in part, p *pages.Page) error {
	all, room := crawl.PageLinks{From: string(p.URL)}, x.limit-jsonSize(p.URL)
	err := x.links(in, p, func(v any) error {
		to := v.(crawl.LinkRow).To
		if x.limit > 0 {
			if room -= jsonSize(to) + 1; room < maxGroup {
				all.Cut = true
				return nil
			}
		}
		all.To = append(all.To, to)
		return nil
	})
	if err != nil || len(all.To) == 0 && x.Since.IsZero() {
		return err
	}
	return x.send(all)
}

// maxGroup is the space in a message for everything besides the links of a page, in bytes.
const maxGroup = 200

// chunks sends a page chunk by chunk.
func (x *exported) chunks(in part, p *pages.Page) error {
	limit := x.limit
	x.limit = 0 // the limit is for a chunk, not for the page
	rec := x.record(in, p, "markdown", x.All)
	x.limit = limit
	if rec.Withheld != "" {
		if countLeftOut(x.left, rec.Withheld); x.Since.IsZero() {
			return nil
		}
		return x.remove(p, rec.Withheld)
	}
	all := slices.Collect(pagetext.Chunks([]byte(rec.Markdown), cmp.Or(x.ChunkSize, pagetext.DefaultChunk)))
	if len(all) == 0 && !x.Since.IsZero() { // an earlier export may have had some
		return x.remove(p, crawl.PageEmpty)
	}
	for i, c := range all {
		cut := false
		chunk := crawl.PageChunk{URL: rec.URL, N: i + 1, Of: len(all), Title: rec.Title, Text: x.cut(c.Text, &cut),
			Lang: rec.Lang, FetchedAt: rec.FetchedAt, SHA256: rec.SHA256, Usage: &rec.Usage}
		for _, h := range c.Headings {
			chunk.Headings = append(chunk.Headings, strings.ToValidUTF8(h[:min(len(h), maxHeading)], ""))
		}
		if err := x.send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// maxHeading is how much of a heading a chunk repeats, in bytes.
const maxHeading = 200

// notFor returns why a page does not belong to an export for some purposes: which of them its site
// disallows, or, unless those are included, has no statement about. Search needs no permission
// (formats §8.3).
func notFor(p *pages.Page, purposes []usage.Purpose, unknownToo bool) string {
	if len(purposes) == 0 {
		return ""
	}
	said := p.Usage.Concluded()
	for _, purpose := range purposes {
		switch v := said[purpose]; {
		case v == usage.Disallow:
		case v == usage.Unknown && purpose != usage.Search && !unknownToo:
		default:
			continue
		}
		return purpose.String() + " " + said[purpose].String()
	}
	return ""
}
