package main

import (
	"context"
	"io"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
)

// files is a crawl at rest, read from its data directory.
type files struct {
	frontier *frontier.Reader
	indexer  *indexer.Reader
}

func openFiles(dir string) (*files, error) {
	f, err := frontier.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	x, err := indexer.OpenDir(dir)
	if err != nil {
		f.Close()
		return nil, err
	}
	x.Hide(f.Spec().Forgotten)
	return &files{f, x}, nil
}

func (f *files) Status(context.Context) (crawl.Status, error) { return f.frontier.Status() }

func (f *files) Hosts(_ context.Context, each func(crawl.HostInfo) error) error {
	return f.frontier.Hosts(each)
}

func (f *files) Explain(_ context.Context, url string) (crawl.Explanation, error) {
	return f.frontier.Explain(url)
}

func (f *files) Pages(_ context.Context, each func(crawl.PageInfo) error) error {
	return f.indexer.Pages(each)
}

func (f *files) Search(_ context.Context, query string, limit int) (crawl.SearchAnswer, error) {
	return f.indexer.Search(query, limit)
}

func (f *files) Export(_ context.Context, what, format string, w io.Writer) error {
	return f.indexer.Export(what, format, w)
}

func (f *files) Close() error {
	f.indexer.Close()
	return f.frontier.Close()
}
