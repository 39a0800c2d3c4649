package pagetext

import (
	"path"
	"slices"
	"testing"
)

// BenchmarkRead measures how search reads a page of a manual, and BenchmarkReadText measures Text
// on the same pages of 9 to 36 KB.
func BenchmarkRead(b *testing.B) {
	benchManuals(b, func(x *Extractor, doc []byte) {
		x.Read("https://docs.example/manual/page.html", "text/html", "utf-8", doc)
	})
}

func BenchmarkReadText(b *testing.B) {
	benchManuals(b, func(x *Extractor, doc []byte) { x.Text("text/html", "utf-8", doc) })
}

func benchManuals(b *testing.B, read func(x *Extractor, doc []byte)) {
	for dir, docs := range manuals(b, 1<<20) {
		var list [][]byte
		size := 0
		for _, doc := range docs {
			if len(doc) > 9<<10 && len(doc) < 36<<10 {
				list = append(list, doc)
				size += len(doc)
			}
		}
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b []byte) int { return len(a) - len(b) })
		b.Run(path.Base(path.Dir(dir)), func(b *testing.B) {
			var x Extractor
			b.ReportAllocs()
			b.SetBytes(int64(size / len(list)))
			i, began := 0, cpu()
			for b.Loop() {
				read(&x, list[i*7919%len(list)])
				i++
			}
			b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}
