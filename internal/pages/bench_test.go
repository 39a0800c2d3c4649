package pages

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// corpus returns real pages of 9 to 36 KB below $CURTSY_CORPUS, a folder with .html files
// (the documentation that comes with a compiler will do); the benchmarks that need them are
// skipped without it.
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

// BenchmarkTextByTree is what a document tree and its text cost, for comparison.
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

// BenchmarkPut stores pages of 18 KB, packed to about 6, in batches of 256 from 64 hosts, as a
// crawl of many hosts brings them; 1 op is a page.
func BenchmarkPut(b *testing.B) {
	for _, hosts := range []int{1, 64, 2000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) { benchPut(b, hosts, 256, false) })
	}
	b.Run("batch=32", func(b *testing.B) { benchPut(b, 64, 32, false) })
	b.Run("recrawl/same", func(b *testing.B) { benchPut(b, 64, 256, true) })
}

func benchPut(b *testing.B, hosts, batchSize int, again bool) {
	s, err := Open(filepath.Join(b.TempDir(), "pages-0.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body := make([]byte, 0, 6<<10)
	for i := range 180 {
		sum := sha256.Sum256([]byte{byte(i)})
		body = append(body, sum[:]...)
	}
	packed := s2.Encode(nil, body)
	batch := make([]Page, batchSize)
	n, visit := 0, uint64(1)
	b.ReportAllocs()
	began := cpu()
	for b.Loop() {
		if again && n == 4096 {
			n, visit = 0, visit+1
		}
		p := &batch[n%batchSize]
		*p = Page{Title: "A title as long as titles are, usually", Lang: "en"}
		p.URL = canon.URL(fmt.Sprintf("https://www.host%d.example/docs/section-%d/page-%d.html", n%hosts, n/hosts%100, n))
		p.Visit = crawl.VisitID{Epoch: 1, N: visit}
		p.Status, p.ContentType, p.Charset, p.Size, p.FetchedAt = 200, "text/html", "utf-8", 18<<10, day
		p.SHA256 = sha256.Sum256([]byte(p.URL))
		p.FoundOn = "https://www.host1.example/docs/section-1/index.html"
		p.Encoding, p.Body = crawl.EncodingS2, packed
		if n++; n%batchSize == 0 {
			if _, err := s.Put(batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
	if st := s.Stats(); st.Pages > 0 {
		b.ReportMetric(float64(st.FileBytes)/float64(st.Pages), "file-B/page")
	}
}
