package look

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/searchrules"
	"github.com/curtsy/curtsy/internal/web/search"
)

// synonymsHelp describes --synonyms.
const synonymsHelp = "try the synonyms in this `FILE` (in the format of Solr) instead of those of the search rules"

// changeOf changes search rules for one search.
type changeOf func(*searchrules.Rules) *searchrules.Rules

// readSynonyms reads the file of --synonyms. Without one the rules stay as they are, and the result
// is nil.
func readSynonyms(name string) (changeOf, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, app.Usage("--synonyms: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, searchrules.MaxSynonymsFile+1))
	if err != nil {
		return nil, app.Usage("--synonyms: %w", err)
	}
	s, err := searchrules.ParseSynonyms(filepath.Base(name), string(text))
	if err != nil {
		return nil, app.Usage("--synonyms: %w", err)
	}
	return func(own *searchrules.Rules) *searchrules.Rules { return own.WithSynonyms(s) }, nil
}

// tunable is a crawl whose searches can use other rules than its own.
type tunable interface {
	search.Crawl
	SearchBy(ctx context.Context, r crawl.SearchRequest, change func(*searchrules.Rules) *searchrules.Rules) (crawl.SearchAnswer, error)
}

// tuned is a crawl that is searched by other rules than its own.
type tuned struct {
	tunable
	change changeOf
}

// Search answers by the changed rules.
func (t tuned) Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
	return t.SearchBy(ctx, r, t.change)
}
