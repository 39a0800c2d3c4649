package indexer

import "testing"

// BenchmarkMark is what marking a page costs beside reading it.
func BenchmarkMark(b *testing.B) {
	m := openMarks(b.TempDir(), 0, nil, nil)
	defer m.close()
	p := markedPage("https://www.host1.example/docs/page-1-2-3.html", 7)
	for b.Loop() {
		_ = m.read(p, func() {})
	}
}
