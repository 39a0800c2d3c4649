package asker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// Datasets calls each for every dataset. Where shards do not answer, the datasets are made from the
// claims of the others.
func (c *Crawl) Datasets(ctx context.Context, each func(crawl.DatasetInfo) error) error {
	return c.DatasetsAndUnread(ctx, each, func(string, string) {})
}

// DatasetsAndUnread also calls unread, before each, for every document that could not be read
// whole, with the reason and the bytes.
func (c *Crawl) DatasetsAndUnread(ctx context.Context, each func(crawl.DatasetInfo) error, unread func(document, why string)) error {
	var all catalog.Collector
	defer all.Close()
	var failed error
	missing := questions.Datasets.Each(ctx, c, nil, func(claim crawl.DatasetClaim) error {
		if claim.Kind == crawl.DatasetUnread {
			unread(claim.Document, claim.Unread)
			return nil
		}
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

// DatasetsState identifies the state of the catalogue. While it is the same, Datasets has the same
// datasets, except for those that expire. forgotten identifies the Spec.Forgotten by which indexers
// leave out datasets. Shards that do not answer are a part of the state.
func (c *Crawl) DatasetsState(ctx context.Context) (state, forgotten string, err error) {
	var states, without []string
	err = questions.IndexerStatus.Each(ctx, c, struct{}{}, func(part crawl.IndexerStatus) error {
		states, without = append(states, part.Datasets...), append(without, part.Forgotten)
		return nil
	})
	var parts *ask.IncompleteError
	if errors.As(err, &parts) {
		states, err = append(states, fmt.Sprint("without ", parts.Missing)), nil
	}
	slices.Sort(states)
	slices.Sort(without)
	return strings.Join(states, "\n"), strings.Join(slices.Compact(without), "\n"), err
}
