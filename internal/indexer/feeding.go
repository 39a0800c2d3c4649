package indexer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// A feed (package feed) asks for changes of pages, and acknowledges them when its sink has them.
// The indexer has the positions. So a feeder may be killed anywhere: what it did not acknowledge is
// sent again, with the same versions.

const (
	feedChunk      = 64        // changes that are read from the store at a time
	feedChunkBytes = 512 << 10 // and their bodies, as stored
	maxFeedRows    = 1000
	maxFeedBytes   = 8 << 20
)

// feeding has the answers for feeds.
func (a answers) feeding() []questions.Answer {
	return []questions.Answer{
		questions.FeedRead.Handle(a.feedRead),
		questions.FeedAck.Handle(a.feedAck),
		questions.Feeds.Handle(a.feeds),
		questions.FeedForget.Handle(a.feedForget),
	}
}

// feedContents are what a feed may send of each page, and what the exporter makes of it.
var feedContents = map[string]string{"": "text", "text": "text", "markdown": "markdown", "html": "html", "none": "none"}

// feedSetup names everything that decides which rows are sent and what they contain.
func feedSetup(r *crawl.FeedRead) string {
	text, err := json.Marshal([]any{feedContents[r.Content], r.For, r.UnknownToo, r.Fields})
	if err != nil {
		panic(err) // plain texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// feedRead sends the changes of a shard after the position of a sink, oldest first.
func (a answers) feedRead(ctx context.Context, r crawl.FeedRead, send func(crawl.FeedRow) error) error {
	purposes, err := usage.ParsePurposes(r.For)
	if err != nil {
		return err
	}
	if _, known := feedContents[r.Content]; !known {
		return fmt.Errorf("feed: the content %q is unknown; use text, markdown, html or none", r.Content)
	}
	for _, p := range a.parts() {
		if p.id != r.Shard {
			continue
		}
		f := feedReader{part: p, r: &r, left: min(r.MaxBytes, maxFeedBytes), rows: min(max(r.MaxRows, 1), maxFeedRows), send: send,
			exported: exported{exporter: exporter{limit: maxSent}, purposes: purposes, left: crawl.LeftOut{Pages: map[string]int64{}}}}
		f.UnknownToo = r.UnknownToo
		if err := f.run(ctx, a.forgotten()); err != nil && !p.gone.Load() {
			return err
		}
	}
	return nil
}

// feedReader is one answer to a FeedRead.
type feedReader struct {
	exported
	part part
	r    *crawl.FeedRead
	left int // bytes that may still be sent
	rows int // and rows
	send func(crawl.FeedRow) error
}

func (f *feedReader) run(ctx context.Context, forgotten []string) error {
	feed, now := f.part.store.Feed(), time.Now()
	pos, err := feed.Begin(f.r.Sink, feedSetup(f.r), forgotten, now)
	if err != nil {
		return err
	}
	if pos.Hidden != (crawl.Spec{Forgotten: forgotten}).ForgottenText() {
		if err := f.conceal(&pos, forgotten); err != nil {
			return err
		}
	}
	pos.Shard, pos.Behind = f.part.id, feed.Behind(pos.Cursor)
	if err := f.send(crawl.FeedRow{Position: &pos}); err != nil {
		return err
	}
	at := pos.Cursor
	for more := true; more; {
		found, err := feed.ChangesWithin(at, feedChunk, feedChunkBytes)
		if err != nil {
			return err
		}
		if more = len(found) > 0; !more {
			at = max(at, pos.Floor) // what had these numbers has later ones now
		}
		for i := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			if row, id := f.row(&pos, &found[i], now); row != nil {
				if err := f.send(crawl.FeedRow{Seq: found[i].Seq, ID: id, Page: row}); err != nil {
					return err
				}
				f.left -= feedSize(row)
				f.rows--
			}
			at = found[i].Seq
			if more = f.left > 0 && f.rows > 0; !more {
				break
			}
		}
	}
	return f.send(crawl.FeedRow{Seq: at, End: true})
}

// conceal has the rows sent again that other entries of Spec.Forgotten concern. What is forgotten
// is deleted at the other side without waiting for the store, and rows that were sent must not name
// it either. What is not forgotten any more is sent again, and named again.
func (f *feedReader) conceal(pos *crawl.FeedPosition, forgotten []string) error {
	feed := f.part.store.Feed()
	entries, known, err := feed.Concealed(pos.Hidden)
	if err != nil {
		return err
	}
	before := crawl.NewForgotten(entries)
	concerns := func(u canon.URL) bool { return u != "" && (f.part.hidden(u) || before.Has(u)) }
	err = f.part.store.Renumber(func(p *pages.Page) bool {
		return !known || concerns(p.URL) || concerns(p.FoundOn) || concerns(p.Canonical) || slices.ContainsFunc(p.Aliases, concerns)
	})
	if err != nil {
		return err
	}
	return feed.Conceal(f.r.Sink, pos.Generation, forgotten)
}

// row makes the row of a change. It is nil if the sink need not know: the page was deleted before
// this generation began, and what the sink has of earlier ones is deleted at the end.
func (f *feedReader) row(pos *crawl.FeedPosition, p *pages.Page, now time.Time) (row *crawl.PageRow, id string) {
	id = export.DocumentID(string(p.URL))
	why, _ := f.removed(p, now)
	switch {
	case p.Deleted == crawl.ReasonForgotten || f.part.hidden(p.URL):
		row = &crawl.PageRow{Removed: string(crawl.ReasonForgotten)} // its URL is not sent any more
	case why != "":
		row = &crawl.PageRow{Removed: why}
		row.URL, row.FetchedAt = string(p.URL), p.FetchedAt
	default:
		row = &crawl.PageRow{}
		if content := feedContents[f.r.Content]; content == "none" {
			row.PageRecord = Record{PageInfo: f.part.info(p), Lang: p.Lang, Charset: p.Charset}
		} else {
			row.PageRecord = f.record(f.part, p, content, false)
		}
		return row, id
	}
	if p.Seq <= pos.Floor {
		return nil, ""
	}
	return row, id
}

// feedSize is about how many bytes a row has.
func feedSize(r *crawl.PageRow) int {
	return 600 + len(r.URL) + len(r.Title) + len(r.Text) + len(r.Markdown) + len(r.HTML) + 100*len(r.Aliases)
}

// feedAck stores how far a sink is.
func (a answers) feedAck(_ context.Context, r crawl.FeedAck, send func(crawl.FeedPosition) error) error {
	for _, p := range a.parts() {
		if p.id != r.Shard {
			continue
		}
		pos, err := p.store.Feed().Acknowledge(&r, time.Now())
		if p.gone.Load() {
			continue
		}
		if err != nil {
			return err
		}
		pos.Shard = p.id
		if err := send(pos); err != nil {
			return err
		}
	}
	return nil
}

// feeds sends the positions of all sinks.
func (a answers) feeds(_ context.Context, _ questions.Nothing, send func(crawl.FeedPosition) error) error {
	for _, p := range a.parts() {
		all, err := p.store.Feed().Positions()
		if p.gone.Load() {
			continue
		}
		if err != nil {
			return err
		}
		for _, pos := range all {
			pos.Shard = p.id
			if err := send(pos); err != nil {
				return err
			}
		}
	}
	return nil
}

// feedForget removes the positions of a sink.
func (a answers) feedForget(_ context.Context, r crawl.FeedForget, send func(crawl.FeedPosition) error) error {
	for _, p := range a.parts() {
		all, err := p.store.Feed().Positions()
		there := false
		if i := slices.IndexFunc(all, func(pos crawl.FeedPosition) bool { return pos.Sink == r.Sink }); err == nil && i >= 0 {
			all[i].Shard = p.id
			there, err = p.store.Feed().ForgetSink(r.Sink)
			if there {
				err = send(all[i])
			}
		}
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	return nil
}
