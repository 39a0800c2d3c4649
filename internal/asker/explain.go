package asker

import (
	"context"
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Page finds a page by its URL, which need not be canonical. It comes with its content in a format
// of questions.PageRequest, unless the page forbids quotation or copies. The record of an alias
// says only which page it is an alias of. found is false when no shard that answers has such a page
// to show; the error is an ask.ErrIncomplete when other shards do not answer.
func (c *Crawl) Page(ctx context.Context, url, format string) (rec crawl.PageRecord, found bool, err error) {
	return questions.Page.Ask(ctx, c, questions.PageRequest{URL: url, Format: format})
}

// Explain says what became of a URL, or what would become of it. Only one shard knows a URL.
func (c *Crawl) Explain(ctx context.Context, url string) (crawl.Explanation, error) {
	x := crawl.Explanation{URL: url, State: "unknown"}
	u, err := canon.Parse(url)
	if err != nil {
		return x, fmt.Errorf("%s: %w", url, err)
	}
	x.Canonical = string(u)
	answer, found, err := questions.Explain.Ask(ctx, c, questions.ExplainRequest{URL: url})
	if found {
		x = answer
	}
	if err == nil && x.Seen && x.Reason != string(crawl.ReasonForgotten) {
		// If the log cannot be read, or its frontier does not answer, the explanation lacks it.
		if p, lerr := c.Log(ctx, crawl.LogQuery{URL: x.Canonical, Limit: maxLife}); lerr == nil {
			x.Life = p.Lines
		}
	}
	if err == nil && x.State == crawl.Stored.String() {
		// Without an answer of the indexer the rest of the explanation is still true.
		_ = questions.Quoting.Each(ctx, c, questions.URLRequest{URL: url}, func(q crawl.QuoteLimit) error {
			x.Quoting = append(x.Quoting, q)
			return nil
		})
		if p, found, _ := c.Page(ctx, url, ""); found {
			x.Usage = &p.Usage
		}
	}
	return x, err
}

// maxLife is the maximum number of lines of the crawl log in an explanation.
const maxLife = 20

// ExplainAll explains URLs. The keys of the answer are the URLs as they were given. URLs that no
// shard knows are not in the answer.
func (c *Crawl) ExplainAll(ctx context.Context, urls []string) (map[string]crawl.Explanation, error) {
	all := map[string]crawl.Explanation{}
	for part := range slices.Chunk(urls, perMessage) {
		err := questions.Explain.Each(ctx, c, questions.ExplainRequest{URLs: part}, func(x crawl.Explanation) error {
			all[x.URL] = x
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
