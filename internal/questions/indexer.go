package questions

import (
	"encoding/json"

	"github.com/curtsy/curtsy/internal/crawl"
)

// IndexerStatus asks each indexer for its state.
var IndexerStatus = add(Question[struct{}, crawl.IndexerStatus]{Name: "indexer-status", By: Indexer})

// Pages asks for all stored pages that may be shown.
var Pages = add(Question[Nothing, crawl.PageInfo]{Name: "pages", By: Indexer})

// PagesPage asks for a page of the list of stored pages, the newest first. The names of its counts
// begin with "type:" or "lang:", or are crawl.CountPartial.
var PagesPage = add(List[crawl.PagesQuery, crawl.PageLine]{
	Name: "pages-page", By: Indexer,
	Sorts: Sorts[crawl.PageLine]{
		{Word: "stored", Key: func(p *crawl.PageLine) Key {
			return Key{N: float64(p.StoredAt.UnixMilli()), ID: p.URL}
		}},
	},
	Always: func(q *crawl.PagesQuery) { q.Descending = true },
})

// PagesUnder asks how many pages of a host, or below a URL, are stored.
var PagesUnder = add(Question[PrefixRequest, crawl.PrefixCount]{Name: "pages-under", By: Indexer, Merge: (*crawl.PrefixCount).Add})

// Page asks for one page. Two shards may answer: the one with the page, and one that only knows
// that the URL is an alias of another page.
var Page = add(Question[PageRequest, crawl.PageRecord]{
	Name: "page", By: Indexer,
	Check: func(req PageRequest) error { return checkURL(req.URL) },
	Merge: func(rec *crawl.PageRecord, other crawl.PageRecord) {
		if rec.Withheld == "alias" {
			*rec = other
		}
	},
	Whole: func(rec *crawl.PageRecord) bool { return rec.Withheld != "alias" },
})

// PageRequest asks for one page with its content.
type PageRequest struct {
	// All asks for the content even if the page does not allow it to be shown.
	All    bool   `json:"all,omitempty"`
	Format string `json:"format"` // text, html or markdown; empty: html
	URL    string `json:"url"`    // need not be canonical
}

// Quoting asks which limits a page sets to quotations from it.
var Quoting = add(Question[URLRequest, crawl.QuoteLimit]{Name: "quoting", By: Indexer})

// Search asks for one step of a search. Its requests are search.Request, and the type of its rows
// depends on the step.
var Search = add(Question[json.RawMessage, any]{Name: "search", By: Indexer})

// Export asks for pages or links in bulk. Its rows are strings that are written as they are, and
// objects that are written as lines of JSON: crawl.PageRecord, PageRemoved, PageChunk, LinkRow and
// PageLinks, and at the end a crawl.LeftOut.
var Export = add(Question[crawl.ExportQuery, any]{Name: "export", By: Indexer})

// Datasets asks what each document states about datasets. Package catalog makes datasets of it.
var Datasets = add(Question[Nothing, crawl.DatasetClaim]{Name: "datasets", By: Indexer})

// DataRule asks whether a line of a data.txt forbids the fetch of a URL as a dataset. No row means
// that no line does.
var DataRule = add(Question[URLRequest, crawl.DataRule]{Name: "data-rule", By: Indexer, Whole: one[crawl.DataRule]})

// JudgeLinks asks how many links of the stored pages another spec would follow that are not
// followed now. Only a running crawl answers it.
var JudgeLinks = add(Question[crawl.Spec, crawl.SpecEffect]{Name: "judge-links", By: Indexer, Merge: (*crawl.SpecEffect).Merge})

// FeedRead asks for the changes of a shard that a sink has not acknowledged.
var FeedRead = add(Question[crawl.FeedRead, crawl.FeedRow]{
	Name: "feed-read", By: Indexer,
	Shards: func(r crawl.FeedRead, of int) []int { return oneShard(r.Shard, of) },
	Check:  func(r crawl.FeedRead) error { return crawl.CheckFeedName(r.Sink) },
})

// FeedAck acknowledges changes. Its row is the position after that, of another generation if the
// position has begun again meanwhile.
var FeedAck = add(Question[crawl.FeedAck, crawl.FeedPosition]{
	Name: "feed-ack", By: Indexer,
	Shards: func(r crawl.FeedAck, of int) []int { return oneShard(r.Shard, of) },
	Check:  func(r crawl.FeedAck) error { return crawl.CheckFeedName(r.Sink) },
})

// Feeds asks for the positions of all sinks in all shards.
var Feeds = add(Question[Nothing, crawl.FeedPosition]{Name: "feeds", By: Indexer})

// FeedForget removes the positions of a sink in all shards. Its rows are the positions that were
// removed.
var FeedForget = add(Question[crawl.FeedForget, crawl.FeedPosition]{
	Name: "feed-forget", By: Indexer,
	Check: func(r crawl.FeedForget) error { return crawl.CheckFeedName(r.Sink) },
})

// SiteRules asks each shard how far the site rules were applied to its stored pages, and what they
// found.
var SiteRules = add(Question[Nothing, crawl.RulesMade]{Name: "rules-made", By: Indexer})

// oneShard lists a shard, if the crawl has it.
func oneShard(shard, of int) []int {
	if shard < 0 || shard >= of {
		return nil
	}
	return []int{shard}
}
