package search

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/pkg/canon"
)

// corpus returns pages: real ones with 6 to 24 KB of text from below $CURTSY_CORPUS (a folder with
// .html files), or else generated ones of 18 KB whose words are distributed roughly as in natural
// text.
func corpus(b *testing.B, n int) [][]byte {
	b.Helper()
	var docs [][]byte
	var x pagetext.Extractor
	if root := os.Getenv("CURTSY_CORPUS"); root != "" {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && len(docs) >= n {
				return fs.SkipAll
			}
			if err != nil || !strings.HasSuffix(path, ".html") {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Size() > 8<<10 && info.Size() < 100<<10 {
				if doc, err := os.ReadFile(path); err == nil {
					if n := len(x.Text("text/html", "utf-8", doc).Body); n > 6<<10 && n < 24<<10 {
						docs = append(docs, doc)
					}
				}
			}
			return nil
		})
		if len(docs) == 0 {
			b.Fatalf("CURTSY_CORPUS: no page below %s has 6 to 24 KB of text; name a folder with .html files", root)
		}
		return docs
	}
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		// The k-th word is 1/k times as frequent as the first; there are 12,000 words.
		k := int(math.Exp(rng.Float64() * math.Log(12_000)))
		var b []byte
		for k++; k > 0; k /= 19 {
			b = append(b, "bcdfghjklmnpqrstvwxz"[k%19], "aeiou"[k%5])
		}
		return string(append(b, []string{"", "", "", "", "s", "s", "ing", "ed"}[rng.IntN(8)]...))
	}
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "<!doctype html><html lang=en><head><title>%s %s %d</title></head><body>", word(), word(), i)
		for b.Len() < 18<<10 {
			fmt.Fprintf(&b, "<h2 class=\"section title\" id=s%d>%s %s</h2>\n<p class=\"text body\">", b.Len(), word(), word())
			for range 60 {
				if rng.IntN(20) == 0 {
					fmt.Fprintf(&b, "<a class=\"reference internal\" href=\"%s.html#%s\">%s</a> ", word(), word(), word())
				}
				b.WriteString(word())
				b.WriteString([]string{" ", " ", " ", ", ", ". "}[rng.IntN(5)])
			}
			b.WriteString("</p>\n")
		}
		docs = append(docs, []byte(b.String()))
	}
	return docs
}

func corpusPages(docs [][]byte) []pages.Page {
	var x pagetext.Extractor
	all := make([]pages.Page, len(docs))
	for i, doc := range docs {
		p := &all[i]
		p.URL = canon.URL(fmt.Sprintf("https://www.host%d.example/docs/page-%d.html", i%16, i))
		p.Visit = crawl.VisitID{Epoch: 1, N: 1}
		p.Status, p.ContentType, p.Charset, p.Size, p.SHA256 = 200, "text/html", "utf-8", int64(len(doc)), sha256.Sum256(doc)
		p.Encoding, p.Body = crawl.EncodingS2, s2.Encode(nil, doc)
		p.Title, p.Lang = x.Title("text/html", "utf-8", doc)
	}
	return all
}

// BenchmarkIndex fills an index from a store; 1 op is a page. cpu-ns/op is the CPU time of the
// process, merges included.
func BenchmarkIndex(b *testing.B) {
	all := corpusPages(corpus(b, 4000))
	var text, html int
	var x pagetext.Extractor
	for i := range all {
		body, _ := all[i].Unpack(nil)
		html += len(body)
		text += len(x.Text("text/html", "utf-8", body).Body)
	}
	f := newFixture(b)
	if _, err := f.store.Put(all); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	began, n := cpu(), 0
	for i := 0; i < b.N; i += n {
		var err error
		if n, err = f.Step(context.Background()); err != nil {
			b.Fatal(err)
		}
		if n == 0 { // all pages are indexed: begin with an empty index
			b.StopTimer()
			f.Close()
			Remove(f.path())
			f.Index = nil
			f.reopen()
			b.StartTimer()
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(html)/float64(len(all)), "html-B/page")
	b.ReportMetric(float64(text)/float64(len(all)), "text-B/page")
	for n = 1; n > 0; {
		n, _ = f.Step(context.Background())
	}
	f.Close()
	f.Index = nil
	info, _ := os.Stat(f.path())
	b.ReportMetric(float64(info.Size())/float64(text), "file/text")
	f.reopen()
}

// BenchmarkRead measures the part of indexing before anything is written.
func BenchmarkRead(b *testing.B) {
	all := corpusPages(corpus(b, 1000))
	b.ReportAllocs()
	began, r := cpu(), newReader(nil)
	for i := 0; b.Loop(); i++ {
		r.read(&all[i%len(all)])
		if r.build.Len() == batchPages {
			r.finish()
		}
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
}

// BenchmarkSearch asks for two words that are in titles; cpu-ns/op is the CPU time for ten hits
// with snippets.
func BenchmarkSearch(b *testing.B) {
	all := corpusPages(corpus(b, 4000))
	f := newFixture(b)
	f.add(all...)
	var words []string
	var z analysis.Tokenizer
	for i := range 20 {
		z.Tokens([]byte(all[i*7%len(all)].Title), func(t analysis.Token) bool { words = append(words, string(t.Word)); return true })
	}
	began := cpu()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		ask(b, crawl.SearchRequest{Query: words[i%len(words)] + " " + words[(i+1)%len(words)]}, f.Index)
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
}
