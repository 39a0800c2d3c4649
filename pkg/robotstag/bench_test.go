package robotstag

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"
)

// plainHeaders are the headers of a typical response without tags.
var plainHeaders = http.Header{
	"Content-Type": {"text/html; charset=utf-8"}, "Date": {"Wed, 03 Dec 2025 13:09:53 GMT"}, "Server": {"nginx"},
	"Cache-Control": {"max-age=60"}, "Etag": {`"x"`}, "Vary": {"Accept-Encoding"},
}

// Pages without tags cost no allocation, whatever other meta elements they have.
func TestNoAllocations(t *testing.T) {
	s := New(bot)
	name := []byte("some-very-long-meta-name-that-no-small-buffer-would-hold:og:title")
	var h Head
	text := []byte("text")
	if n := testing.AllocsPerRun(100, func() {
		s.Reset(bot)
		s.AddHeaders(plainHeaders)
		s.AddMeta("viewport", "width=device-width")
		s.WantsMeta(name)
		_ = s.Directives()
		h = Head{}
		h.Start(atom.Head)
		h.Start(atom.Meta)
		h.End(atom.Head)
		h.Start(atom.Body)
		h.Text(text)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPageWithoutTags(b *testing.B) {
	s := New(bot)
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(bot)
		s.AddHeaders(plainHeaders)
		s.AddMeta("viewport", "width=device-width")
		_ = s.Directives()
	}
}

func BenchmarkHeader(b *testing.B) {
	s := New(bot)
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(bot)
		s.AddHeader("X-Robots-Tag", "noindex, nofollow; ExampleBot=nosnippet")
	}
}

func BenchmarkUnavailableAfter(b *testing.B) {
	s := New(bot)
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(bot)
		s.AddHeader("X-Robots-Tag", "unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT")
	}
}

// The most expensive known value: as many incomplete dates as fit, each with as many words as a
// date may have.
func BenchmarkHostileHeader(b *testing.B) {
	value := strings.Repeat("unavailable_after:3 Dec 2025 1 2 3 4 5,", MaxValue/30)
	s := New(bot)
	b.SetBytes(MaxValue)
	for b.Loop() {
		s.Reset(bot)
		s.AddHeader("X-Robots-Tag", value)
	}
}

func BenchmarkHeadClosed(b *testing.B) {
	var h Head
	h.Start(atom.Body)
	for b.Loop() {
		if !h.Closed() {
			h.Start(atom.Div)
		}
	}
}

var page = "<!doctype html><html><head><title>t</title><meta charset=utf-8><meta name=viewport content=x>" +
	"<link rel=stylesheet href=x><script>var x</script><meta name=robots content='max-image-preview:large'></head><body>" +
	strings.Repeat("<p>Some text with <a href=/x>a link</a> and more.</p>\n", 500)

func BenchmarkScanHTML(b *testing.B) {
	s := New(bot)
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(bot)
		s.ScanHTML([]byte(page))
	}
}

func BenchmarkParser(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		fromHTML(bot, []byte(page))
	}
}
