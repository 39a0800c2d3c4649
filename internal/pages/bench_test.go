package pages

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

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
