// Package feedtest writes random histories of pages to a sink as the feed does, with a writer that
// is killed and resumes. At the end the sink must have exactly the pages of History.Want.
package feedtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed"
)

// Crawl is the name of the crawl in histories.
const Crawl = "docs"

// Begin is when the first page was fetched.
var Begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Page is a change that stores a page. Its text shows the version.
func Page(url string, version int64) feed.Change {
	row := crawl.PageRow{PageRecord: crawl.PageRecord{
		PageInfo: crawl.PageInfo{
			URL: url, Status: 200, FetchedAt: Begin.Add(time.Duration(version) * time.Second), ContentType: "text/html",
			Title: "Page " + url[strings.LastIndexByte(url, '/')+1:], Size: 1234, SHA256: strings.Repeat("0", 64), SnippetAllowed: true, Depth: 1,
		},
		Lang: "en", Text: fmt.Sprintf("Version %d of <%s>.\nIts second line: “é”.", version, url),
	}}
	return feed.Change{ID: export.DocumentID(url), Version: version, Row: row}
}

// Gone is a change that deletes a page.
func Gone(url string, version int64) feed.Change {
	c := feed.Change{ID: export.DocumentID(url), Version: version, Row: crawl.PageRow{Removed: "gone"}}
	c.Row.URL, c.Row.FetchedAt = url, Begin.Add(time.Duration(version)*time.Second)
	return c
}

// History is the changes of each shard, in their order.
type History struct {
	Shards [][]feed.Change
}

// Random makes a history with so many changes of each shard: pages are stored, changed, deleted and
// stored again.
func Random(seed uint64, shards, changes int) (h History) {
	r := rand.New(rand.NewPCG(seed, 1))
	for shard := range shards {
		var list []feed.Change
		pages := 1 + changes/4
		for n := range changes {
			url := fmt.Sprintf("https://s%d.example.org/%d", shard, r.IntN(pages))
			if r.IntN(3) == 0 {
				list = append(list, Gone(url, int64(n+1)))
			} else {
				list = append(list, Page(url, int64(n+1)))
			}
		}
		h.Shards = append(h.Shards, list)
	}
	return h
}

// Want is what a sink has at the end, by ID.
func (h History) Want() map[string]feed.Change {
	want := map[string]feed.Change{}
	for _, list := range h.Shards {
		for _, c := range list {
			if c.Row.Removed != "" {
				delete(want, c.ID)
			} else {
				want[c.ID] = c
			}
		}
	}
	return want
}

// Writer writes histories.
type Writer struct {
	// Open opens the sink, also each time the writer was killed.
	Open func() (feed.Sink, error)
	Seed uint64
	// Largest is the number of changes that a batch covers at most; 0 means 20.
	Largest int
	// Alive, if not 0, is how long a Write may take at most before the writer is killed. Each time
	// a random part of it is taken. Only for bubbles.
	Alive time.Duration
	// Pause is called when a Write failed, with a random number of seconds from 0 to 89. So a
	// killed writer may come back before or after a server forgets what it has deleted.
	Pause func(seconds int)
}

// Run writes a history, each shard in a goroutine, until everything is acknowledged. It returns how
// often a batch was sent again. A batch is sent again also after it arrived: a writer may be killed
// before it has written the position down. Nothing may be refused.
func (w Writer) Run(ctx context.Context, h History) (again int, err error) {
	g, ctx := errgroup.WithContext(ctx)
	counts := make([]int, len(h.Shards))
	for shard, list := range h.Shards {
		g.Go(func() (err error) {
			counts[shard], err = w.shard(ctx, shard, list)
			return err
		})
	}
	err = g.Wait()
	for _, n := range counts {
		again += n
	}
	return again, err
}

// most is how often in a row a batch may fail.
const most = 1000

func (w Writer) shard(ctx context.Context, shard int, list []feed.Change) (again int, err error) {
	r := rand.New(rand.NewPCG(w.Seed, uint64(shard)))
	s, err := w.Open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	prepared := false
	failures := 0
	for position := 0; position < len(list); {
		n := min(1+r.IntN(max(w.Largest, 20)), len(list)-position)
		batch := feed.Batch{Crawl: Crawl, Shard: shard, Generation: 1, Changes: last(list[position : position+n])}
		err := w.write(ctx, r, s, batch, &prepared)
		if err == nil && r.IntN(5) > 0 {
			position += n
			failures = 0
			continue
		}
		again++
		if failures++; failures == most || ctx.Err() != nil {
			return again, fmt.Errorf("shard %d at %d of %d: %w", shard, position, len(list), err)
		}
		if err != nil && w.Pause != nil {
			w.Pause(r.IntN(90))
		}
		if r.IntN(2) == 0 { // killed, and begun again
			_ = s.Close()
			prepared = false
			if s, err = w.Open(); err != nil {
				return again, err
			}
		}
	}
	return again, nil
}

func (w Writer) write(ctx context.Context, r *rand.Rand, s feed.Sink, b feed.Batch, prepared *bool) error {
	if w.Alive > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(w.Alive))))
		defer cancel()
	}
	if !*prepared {
		if err := s.Prepare(ctx, nil); err != nil {
			return err
		}
		*prepared = true
	}
	refused, err := s.Write(ctx, b)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("refused: %s", refused[0].Reason)
	}
	return err
}

// last keeps the last change of each page, as the feed does.
func last(list []feed.Change) (kept []feed.Change) {
	for i, c := range list {
		replaced := false
		for _, later := range list[i+1:] {
			replaced = replaced || later.ID == c.ID
		}
		if !replaced {
			kept = append(kept, c)
		}
	}
	return kept
}
