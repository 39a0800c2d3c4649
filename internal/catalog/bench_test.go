package catalog

import (
	"bytes"
	"testing"
)

// BenchmarkCut reads a catalogue of strict JSON in parts.
func BenchmarkCut(b *testing.B) {
	body := bigCatalogue(20000)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Cut(bytes.NewReader(body), MaxCatalogue, func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadJSON reads a short document of strict JSON.
func BenchmarkReadJSON(b *testing.B) {
	body := bigCatalogue(800)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := ReadJSON(body, Document{URL: "https://p.example/data.json"}); err != nil {
			b.Fatal(err)
		}
	}
}
