package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	_ "github.com/blevesearch/bleve/v2/search/highlight/highlighter/html" // the style of snippets
)

// bleveTitle is how much more a word in the title counts: as much as for the other rival.
const bleveTitle = 8

type bleveDoc struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Host  string `json:"host"`
}

// indexBleve indexes pages as bleve's documentation advises for English text: stemmed title and
// body, which is stored for its snippets, and the host as one term for counts.
func indexBleve(ctx context.Context, dir string, pages []page) (err error) {
	text := bleve.NewTextFieldMapping()
	text.Analyzer = en.AnalyzerName
	text.IncludeInAll = false
	host := bleve.NewKeywordFieldMapping()
	host.IncludeInAll = false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("title", text)
	doc.AddFieldMappingsAt("body", text)
	doc.AddFieldMappingsAt("host", host)
	mapping := bleve.NewIndexMapping()
	mapping.DefaultMapping = doc
	index, err := bleve.New(filepath.Join(dir, "bleve"), mapping)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	for len(pages) > 0 {
		n := min(len(pages), 500)
		batch := index.NewBatch()
		for _, p := range pages[:n] {
			host, _, _ := strings.Cut(place(p.URL), "/")
			if err := batch.Index(p.URL, bleveDoc{p.Title, p.Text, host}); err != nil {
				return err
			}
		}
		if err := errors.Join(index.Batch(batch), ctx.Err()); err != nil {
			return err
		}
		pages = pages[n:]
	}
	return nil
}

func openBleve(dir string) (func(context.Context, string) (answer, error), error) {
	index, err := bleve.OpenUsing(filepath.Join(dir, "bleve"), map[string]any{"read_only": true})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, words string) (a answer, err error) {
		title, body := bleve.NewMatchQuery(words), bleve.NewMatchQuery(words)
		title.SetField("title")
		title.SetBoost(bleveTitle)
		body.SetField("body")
		req := bleve.NewSearchRequestOptions(bleve.NewDisjunctionQuery(title, body), 10, 0, false)
		req.Fields = []string{"title"}
		req.Highlight = bleve.NewHighlightWithStyle("html")
		req.Highlight.AddField("body")
		req.AddFacet("host", bleve.NewFacetRequest("host", 20))
		res, err := index.SearchInContext(ctx, req)
		if err != nil {
			return a, err
		}
		a.Total, a.Facets = int(res.Total), map[string]int{}
		for _, t := range res.Facets["host"].Terms.Terms() {
			a.Facets[t.Term] = t.Count
		}
		for _, h := range res.Hits {
			title, _ := h.Fields["title"].(string)
			a.Hits = append(a.Hits, answered{h.ID, title, strings.Join(h.Fragments["body"], " … ")})
		}
		return a, nil
	}, nil
}
