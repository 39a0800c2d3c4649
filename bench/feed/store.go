package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// store makes the page stores of a crawl.
func store(dir string, n, shards, size int) error {
	stores := make([]*pages.Store, shards)
	for k := range stores {
		s, err := pages.Open(filepath.Join(dir, fmt.Sprintf("pages-%d.db", k)), pages.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		stores[k] = s
	}
	filler := strings.Repeat("words that fill a page, and some more of them; ", size/47+1)
	batches := make([][]pages.Page, shards)
	for i := range n {
		h := canon.Host(fmt.Sprintf("h%d.example", i%1000))
		k := crawl.ShardOf(h, shards)
		body := fmt.Appendf(nil, "<title>page %d</title><p>%s", i, filler)
		batches[k] = append(batches[k], pages.Page{Title: fmt.Sprint("page ", i), Page: crawl.Page{URL: canon.URL(fmt.Sprintf("https://%s/%d", h, i)),
			Visit: crawl.VisitID{Epoch: 1, N: uint64(i + 1)}, Status: 200, ContentType: "text/html", Charset: "utf-8", FetchedAt: time.Now(), Body: body,
			Size: int64(len(body)), SHA256: sha256.Sum256(body)}})
		if len(batches[k]) == 500 || i >= n-1000 {
			if _, err := stores[k].Put(batches[k]); err != nil {
				return err
			}
			batches[k] = nil
		}
	}
	for k, b := range batches {
		if _, err := stores[k].Put(b); err != nil {
			return err
		}
	}
	return nil
}
