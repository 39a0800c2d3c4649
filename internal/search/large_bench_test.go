package search

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// largeQuestions are the queries of BenchmarkLarge.
var largeQuestions = []string{"create index concurrently", "how do I read a csv file", "vacuum", "std::unordered_map", "os.path.join",
	"the of and", "sort a list of dictionaries", "string", "function", "ebene duplizieren", "regular expressions", "pg_stat_activity",
	`"event loop"`, "intall postgres", "int*"}

// large returns an index of 100,000 pages: those of the crawl in $CURTSY_CRAWL (bench/search -dir
// DIR leaves one in DIR/data-1), copied to as many hosts as necessary. It is kept in the folder
// $CURTSY_LARGE and used again, so that two versions of the code can be compared with the same
// index.
func large(b *testing.B) *fixture {
	dir := os.Getenv("CURTSY_CRAWL")
	if dir == "" {
		b.Skip("CURTSY_CRAWL names no crawl")
	}
	f := newFixtureIn(b, cmp.Or(os.Getenv("CURTSY_LARGE"), b.TempDir()))
	if f.store.Stats().LastSeq == 0 {
		f.fill(b, dir)
	}
	n, began := f.Behind(), cpu()
	f.follow()
	if n > 0 {
		b.Logf("%d pages, indexed with %v of CPU each", n, (cpu()-began)/time.Duration(n))
	}
	return f
}

// fill copies the pages of a crawl to many hosts.
func (f *fixture) fill(b *testing.B, crawled string) {
	from, err := pages.OpenReadOnly(filepath.Join(crawled, "pages-0.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	n := 0
	for copy := 0; n < 100_000; copy++ {
		var batch []pages.Page
		put := func() {
			if _, err := f.store.Put(batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
		err := from.EachWithBody(func(p pages.Page) error {
			c := p
			c.Page.URL = canon.URL(strings.Replace(string(p.URL), "://", fmt.Sprintf("://c%d.", copy), 1))
			c.Visit = crawl.VisitID{Epoch: 1, N: 1}
			if copy > 0 { // the original is in the store already
				body, err := p.Unpack(nil)
				if err != nil {
					return err
				}
				c.Encoding, c.Body = crawl.EncodingNone, fmt.Appendf(body[:len(body):len(body)], "<p>copy%dof%d", copy, p.ID)
				c.SHA256 = sha256.Sum256(c.Body)
			}
			batch = append(batch, c)
			n++
			if len(batch) == 500 {
				put()
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		put()
	}
}

// BenchmarkLarge asks 100,000 pages the queries of a person. cpu-ns/op is the CPU time for ten hits
// with snippets; dearest-ns is the median of the most expensive query, worst-ns its maximum.
func BenchmarkLarge(b *testing.B) {
	f := large(b)
	largeQuestions := largeQuestions
	if q := os.Getenv("CURTSY_QUESTION"); q != "" {
		largeQuestions = strings.Split(q, "|")
	}
	took := make([][]time.Duration, len(largeQuestions))
	b.ResetTimer()
	began := cpu()
	for i := 0; b.Loop(); i++ {
		at := cpu()
		ask(b, crawl.SearchRequest{Query: largeQuestions[i%len(took)]}, f.Index)
		took[i%len(took)] = append(took[i%len(took)], cpu()-at)
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
	dearest, worst := time.Duration(0), time.Duration(0)
	for i, all := range took {
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		median := all[len(all)/2]
		dearest, worst = max(dearest, median), max(worst, all[len(all)-1])
		b.Logf("%-30s median %8v, at most %8v", largeQuestions[i], median.Round(10*time.Microsecond), all[len(all)-1].Round(10*time.Microsecond))
	}
	b.ReportMetric(float64(dearest), "dearest-ns")
	b.ReportMetric(float64(worst), "worst-ns")
}
