package dashboard

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
)

// datasetView is what dataset.html shows.
type datasetView struct {
	crawl.DatasetInfo
	Called      string // its title, or what else it is called
	LicenseName string
	Conflicting []conflict
	MoreFiles   int // that are not listed, like those below
	MoreColumns int
	MoreSources int
	MoreAlso    int
	Get         string // the command that downloads it
	Making      bool   // there is nothing to be shown yet
	Old         time.Time
}

func (v datasetView) refresh() int { return datasetsView{Making: v.Making}.refresh() }

func (v datasetView) title() string { return text(v.Called, 80) }

// From is the document from which a field comes; "" means that no document has the field.
func (v datasetView) From(field string) string { return v.Provenance[field] }

// conflict is the value of a field in other documents.
type conflict struct {
	Field      string
	Statements []crawl.DatasetStatement
}

// How many rows of the lists of a dataset are shown.
const (
	filesShown     = 200
	columnsShown   = 100
	sourcesShown   = 50
	wordsShown     = 30 // keywords, creators
	conflictsShown = 40
)

func dataset(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	id, found := r.PathValue("id"), false
	var v datasetView
	old, err := r.catalogue.read(ctx, c, func(t *datasetTable) (err error) {
		v.DatasetInfo, found, err = t.dataset(id)
		return err
	})
	v.Old = old
	switch {
	case errors.Is(err, errMaking):
		v.Called, v.Making = "Dataset", true
		return v, nil
	case !found && err != nil:
		return nil, err
	case !found:
		return nil, web.NotFound("There is no dataset with the ID %s.", text(id, 40)).With("curtsy datasets")
	}
	v.Called, v.LicenseName = cmp.Or(text(v.Title, 120), text(v.Name, 120), v.ID), licenseOf(&v.DatasetInfo)
	// In this command --dir is where the files go.
	v.Get = "curtsy datasets get " + v.ID + strings.Replace(r.typed, " --dir ", " --data ", 1)
	v.Files, v.MoreFiles = cut(v.Files, filesShown)
	v.Columns, v.MoreColumns = cut(v.Columns, columnsShown)
	v.Sources, v.MoreSources = cut(v.Sources, sourcesShown)
	v.AlsoDescribedAt, v.MoreAlso = cut(v.AlsoDescribedAt, sourcesShown)
	v.Keywords, _ = cut(v.Keywords, wordsShown)
	v.Creators, _ = cut(v.Creators, wordsShown)
	for _, field := range slices.Sorted(maps.Keys(v.Conflicts)) {
		if said, _ := cut(v.Conflicts[field], 10); len(v.Conflicting) < conflictsShown {
			v.Conflicting = append(v.Conflicting, conflict{field, said})
		}
	}
	return v, err
}
