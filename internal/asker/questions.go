package asker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Hosts calls each for every host.
func (c *Crawl) Hosts(ctx context.Context, each func(crawl.HostInfo) error) error {
	return gather(ctx, c, "hosts", nil, each)
}

// HostsNamed calls each for those of these hosts that the crawl knows. What their own shards say is
// the whole answer: others are not waited for.
func (c *Crawl) HostsNamed(ctx context.Context, names []string, each func(crawl.HostInfo) error) error {
	var wanted []int
	for _, name := range names {
		if c.Stopped() {
			break
		}
		if k := crawl.ShardOf(canon.Host(name), c.Spec.Shards); !slices.Contains(wanted, k) {
			wanted = append(wanted, k)
		}
	}
	return gatherOf(ctx, c, "hosts", map[string][]string{"hosts": names}, wanted, func(h crawl.HostInfo) error {
		if !slices.Contains(names, h.Host) {
			return nil
		}
		return each(h)
	})
}

// Timeline is what requests were sent to a host: the last before a time (zero: the last of all), at
// most limit of them (0: all that are kept, which are the last 512 or some more). known is false
// when no shard that answers knows the host; the error is an ask.ErrIncomplete when others do not
// answer.
func (c *Crawl) Timeline(ctx context.Context, host string, before time.Time, limit int) (t crawl.Timeline, known bool, err error) {
	req := map[string]any{"host": host, "limit": limit}
	if !before.IsZero() {
		req["before"] = before
	}
	err = gather(ctx, c, "timeline", req, func(part crawl.Timeline) error {
		t, known = part, true
		return nil
	})
	if known && errors.Is(err, ask.ErrIncomplete) {
		err = nil // the one shard that has the host has answered
	}
	return t, known, err
}

// Mirrors calls each for every origin that names a main host, or was found to be a mirror.
func (c *Crawl) Mirrors(ctx context.Context, each func(crawl.MirrorInfo) error) error {
	return gather(ctx, c, "mirrors", nil, each)
}

// Updates calls each for every site that tells what changed on it.
func (c *Crawl) Updates(ctx context.Context, each func(crawl.UpdatesInfo) error) error {
	return gather(ctx, c, "updates", nil, each)
}

// Pages calls each for every page stored.
func (c *Crawl) Pages(ctx context.Context, each func(crawl.PageInfo) error) error {
	return gather(ctx, c, "pages", nil, each)
}

// Page finds one page by its URL, which need not be spelled canonically, with its content as "text"
// or "html" unless the page asks not to be quoted or copied. Of another address of a page it says
// only whose. found is false when no shard that answers may show such a page; the error is an
// ask.ErrIncomplete when others do not answer.
func (c *Crawl) Page(ctx context.Context, url, content string) (rec crawl.PageRecord, found bool, err error) {
	if _, err := canon.Parse(url); err != nil {
		return rec, false, fmt.Errorf("%s: %w", url, err)
	}
	req := map[string]string{"url": url, "format": content}
	err = gather(ctx, c, "page", req, func(part crawl.PageRecord) error {
		if !found || rec.Withheld == "alias" {
			rec, found = part, true // the page itself rather than another address of it
		}
		return nil
	})
	if found && rec.Withheld != "alias" && errors.Is(err, ask.ErrIncomplete) {
		err = nil // the one shard that has the page has answered
	}
	return rec, found, err
}

// Explain says what became of a URL, or would. One shard knows the URL, if any does.
func (c *Crawl) Explain(ctx context.Context, url string) (crawl.Explanation, error) {
	x := crawl.Explanation{URL: url, State: "unknown"}
	u, err := canon.Parse(url)
	if err != nil {
		return x, fmt.Errorf("%s: %w", url, err)
	}
	x.Canonical = string(u)
	err = gather(ctx, c, "explain", map[string]string{"url": url}, func(part crawl.Explanation) error {
		if !x.Seen {
			x = part
		}
		return nil
	})
	if x.Seen && errors.Is(err, ask.ErrIncomplete) {
		err = nil // the one shard that knows the URL has answered
	}
	if err == nil && x.Seen && x.Reason != string(crawl.ReasonForgotten) {
		// A log that cannot be read, or is somebody's who does not answer, explains nothing.
		if p, lerr := c.Log(ctx, crawl.LogQuery{URL: x.Canonical, Limit: maxLife}); lerr == nil {
			x.Life = p.Lines
		}
	}
	if err == nil && x.State == crawl.Stored.String() {
		// Without the indexer's answer the rest is as true.
		_ = gather(ctx, c, "quoting", map[string]string{"url": url}, func(q crawl.QuoteLimit) error {
			x.Quoting = append(x.Quoting, q)
			return nil
		})
		if p, found, _ := c.Page(ctx, url, ""); found {
			x.Usage = &p.Usage
		}
	}
	return x, err
}

// maxLife is how many of a URL's lines in the crawl log explain it.
const maxLife = 20

// ExplainAll explains URLs, by what they were asked as. Of what no shard knows there is nothing in
// the answer.
func (c *Crawl) ExplainAll(ctx context.Context, urls []string) (map[string]crawl.Explanation, error) {
	all := map[string]crawl.Explanation{}
	const perMessage = 200 // × 2 KiB stays well under the payload limit
	for part := range slices.Chunk(urls, perMessage) {
		err := gather(ctx, c, "explain", map[string][]string{"urls": part}, func(x crawl.Explanation) error {
			all[x.URL] = x
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// CountPrefix counts what is known of an entry of Spec.Forgotten.
func (c *Crawl) CountPrefix(ctx context.Context, entry string) (all crawl.PrefixCount, err error) {
	add := func(part crawl.PrefixCount) error {
		all.URLs, all.Pages = all.URLs+part.URLs, all.Pages+part.Pages
		return nil
	}
	req := map[string]string{"entry": entry, "url": entry}
	return all, errors.Join(gather(ctx, c, "urls-under", req, add), gather(ctx, c, "pages-under", req, add))
}

// Datasets calls each for every dataset. Where shards do not answer, the others' datasets are put
// together.
func (c *Crawl) Datasets(ctx context.Context, each func(crawl.DatasetInfo) error) error {
	var all catalog.Collector
	defer all.Close()
	var failed error
	missing := gather(ctx, c, "datasets", nil, func(claim crawl.DatasetClaim) error {
		failed = all.Add(claim)
		return failed
	})
	if (c.Stopped() || failed != nil) && missing != nil {
		return missing
	}
	if err := all.Each(each); err != nil {
		return err
	}
	return missing
}

// DatasetsState names the state of the catalogue: while it is the same Datasets calls each for the
// same, but for what expires. forgotten tells by which Spec.Forgotten nothing of it is shown.
// Shards that do not answer are part of the name.
func (c *Crawl) DatasetsState(ctx context.Context) (state, forgotten string, err error) {
	var told, without []string
	err = gather(ctx, c, "indexer-status", struct{}{}, func(part crawl.IndexerStatus) error {
		told, without = append(told, part.Datasets...), append(without, part.Forgotten)
		return nil
	})
	var parts *ask.IncompleteError
	if errors.As(err, &parts) {
		told, err = append(told, fmt.Sprint("without ", parts.Missing)), nil
	}
	slices.Sort(told)
	slices.Sort(without)
	return strings.Join(told, "\n"), strings.Join(slices.Compact(without), "\n"), err
}

// DataRule says which line of a data.txt closes a URL to fetches of datasets, if one does. That
// somebody who might know does not answer is an error.
func (c *Crawl) DataRule(ctx context.Context, u canon.URL) (rule crawl.DataRule, closed bool, err error) {
	err = gather(ctx, c, "data-rule", map[string]string{"url": string(u)}, func(r crawl.DataRule) error {
		rule, closed = r, true
		return nil
	})
	if closed {
		return rule, true, nil
	}
	return rule, false, err
}

// Export writes pages as jsonl, text or html, or links as jsonl. Pages that say nosnippet or
// noarchive come without their content, or, as text and html, not at all; how many is returned, and
// how many are no part of it for what their sites say of its purposes.
func (c *Crawl) Export(ctx context.Context, q crawl.ExportQuery, w io.Writer) (left crawl.LeftOut, err error) {
	enc := json.NewEncoder(crawl.SafeJSONTo(w))
	enc.SetEscapeHTML(false)
	return c.export(ctx, q, func(v any) error {
		switch v := v.(type) {
		case string: // written as it is
			_, err := io.WriteString(w, v)
			return err
		case json.RawMessage: // a JSON line goes out as it came
			if _, err := w.Write(crawl.SafeJSON(v)); err != nil {
				return err
			}
			_, err := w.Write([]byte{'\n'})
			return err
		}
		return enc.Encode(v)
	})
}

// ExportPages is Export of pages as jsonl, markdown or source that calls each for every row. The
// row is each's only until it returns.
func (c *Crawl) ExportPages(ctx context.Context, q crawl.ExportQuery, each func(*crawl.PageRow) error) (crawl.LeftOut, error) {
	q.What = "pages"
	return c.export(ctx, q, func(v any) error {
		var row crawl.PageRow
		switch v := v.(type) {
		case crawl.PageRecord:
			row.PageRecord = v
		case crawl.PageRemoved:
			row.URL, row.FetchedAt, row.Removed = v.URL, v.FetchedAt, v.Removed
		default:
			var err error
			if row, err = decode[crawl.PageRow]("export", v); err != nil {
				return err
			}
		}
		return each(&row)
	})
}

// ExportLinks is Export of links that calls each for every row.
func (c *Crawl) ExportLinks(ctx context.Context, q crawl.ExportQuery, each func(crawl.LinkRow) error) (crawl.LeftOut, error) {
	q.What, q.Format = "links", "jsonl"
	return c.export(ctx, q, func(v any) error {
		row, ok := v.(crawl.LinkRow)
		if !ok {
			var err error
			if row, err = decode[crawl.LinkRow]("export", v); err != nil {
				return err
			}
		}
		return each(row)
	})
}

// ExportPageLinks is Export of links that calls each with all links of a page at a time.
func (c *Crawl) ExportPageLinks(ctx context.Context, q crawl.ExportQuery, each func(*crawl.PageLinks) error) (crawl.LeftOut, error) {
	q.What, q.Format = "links", "grouped"
	return c.export(ctx, q, func(v any) error {
		all, ok := v.(crawl.PageLinks)
		if !ok {
			var err error
			if all, err = decode[crawl.PageLinks]("export", v); err != nil {
				return err
			}
		}
		return each(&all)
	})
}

// export calls each for what is part of an export: strings, and lines as json.RawMessage, which are
// each's only until it returns, or as the objects that files are asked for.
func (c *Crawl) export(ctx context.Context, q crawl.ExportQuery, each func(v any) error) (left crawl.LeftOut, err error) {
	left.Pages = map[string]int64{}
	err = c.gather(ctx, "export", q, func(v any) error {
		if raw, ok := v.(json.RawMessage); ok {
			var err error
			if v, err = exported(raw); err != nil {
				return err
			}
		}
		if part, ok := v.(crawl.LeftOut); ok { // of one indexer
			left.Add(part)
			return nil
		}
		return each(v)
	})
	return left, err
}

// exported tells the objects of an export apart.
func exported(raw json.RawMessage) (v any, err error) {
	switch {
	case crawl.IsLeftOut(raw):
		return decode[crawl.LeftOut]("export", raw)
	case raw[0] == '"':
		return decode[string]("export", raw)
	}
	return raw, nil
}
