package pagetext

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// corpus returns real pages of 9 to 36 KB below $CURTSY_CORPUS, a folder with .html files, for
// example the documentation of a compiler. Without it the benchmarks that need them are skipped.
func corpus(b *testing.B, limit int) [][]byte {
	root := os.Getenv("CURTSY_CORPUS")
	if root == "" {
		b.Skip("set CURTSY_CORPUS to a folder with .html files")
	}
	var docs [][]byte
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && len(docs) >= limit {
			return fs.SkipAll
		}
		if err != nil || !strings.HasSuffix(path, ".html") {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 9<<10 && info.Size() < 36<<10 {
			if doc, err := os.ReadFile(path); err == nil {
				docs = append(docs, doc)
			}
		}
		return nil
	})
	if len(docs) == 0 {
		b.Fatalf("CURTSY_CORPUS: no page below %s has 9 to 36 KB; name a folder with .html files", root)
	}
	return docs
}

func report(b *testing.B, docs [][]byte) {
	total := 0
	for _, d := range docs {
		total += len(d)
	}
	b.ReportMetric(float64(total)/float64(len(docs)), "B/page")
}

func BenchmarkText(b *testing.B) {
	docs := corpus(b, 1000)
	var x Extractor
	text := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		text += len(x.Text("text/html", "utf-8", docs[i%len(docs)]).Body)
	}
	b.ReportMetric(float64(text)/float64(b.N), "text-B/page")
	report(b, docs)
}

// BenchmarkTextByTree measures a document tree and its text, for comparison.
func BenchmarkTextByTree(b *testing.B) {
	docs := corpus(b, 1000)
	for i := 0; b.Loop(); i++ {
		d, err := goquery.NewDocumentFromReader(bytes.NewReader(docs[i%len(docs)]))
		if err != nil {
			b.Fatal(err)
		}
		_ = d.Find("body").Text()
	}
}

func BenchmarkTitle(b *testing.B) {
	docs := corpus(b, 1000)
	var x Extractor
	for i := 0; b.Loop(); i++ {
		x.Title("text/html", "utf-8", docs[i%len(docs)])
	}
}
