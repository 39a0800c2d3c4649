package simweb

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Trap reports whether a URL is inside a spider trap: an endless space of pages. A crawler does not
// fail a test by fetching any number of them. The entry, /trap/ or /calendar/, is an ordinary page.
func (w *Web) Trap(rawURL string) bool {
	host, path, ok := w.split(rawURL)
	if !ok {
		return false
	}
	s := w.byName[host]
	return s != nil && s.mirror == nil && s.trapAt(path) != nil
}

func (s *site) has(f Feature) bool {
	for _, g := range s.b.Features {
		if g == f {
			return true
		}
	}
	return false
}

// trapAt makes the page at a path inside a trap; it returns nil for all other paths.
func (s *site) trapAt(path string) *resource {
	if rest, ok := strings.CutPrefix(path, "/trap/"); ok && rest != "" && s.has(FeatureTrapPath) {
		if strings.Trim(rest, "ab/") != "" || strings.Contains(rest, "//") || !strings.HasSuffix(rest, "/") {
			return nil
		}
		return s.page(path, doc{text: "Deeper and deeper.", anchors: []anchor{
			{href: "a/", target: s.url(path + "a/")}, {href: "b/", target: s.url(path + "b/")},
		}})
	}
	if rest, ok := strings.CutPrefix(path, "/calendar/day?date="); ok && s.has(FeatureTrapCalendar) {
		date, view, _ := strings.Cut(rest, "&view=")
		day, err := time.Parse(time.DateOnly, date)
		if err != nil || view != "week" && view != "month" {
			return nil
		}
		at := func(days int, view string) anchor {
			return s.to("/calendar/day?date=" + day.AddDate(0, 0, days).Format(time.DateOnly) + "&view=" + view)
		}
		return s.page(path, doc{text: "Nothing happens on " + date + ".", anchors: []anchor{
			at(1, "week"), at(-1, "week"), at(7, "week"), at(30, "month"), at(365, "month"), at(0, "month"),
		}})
	}
	return nil
}

// The page with too many links: the first 10,000 lead to the same fifty pages again and again, the
// links after them to other pages.
const (
	manyLinks     = 50_000
	linksRead     = 10_000 // how many links of a page a crawler follows
	manyTargets   = 50
	behindTargets = 10
)

func (s features) manyLinks() {
	var anchors []anchor
	for i := range manyTargets {
		r := s.add(s.page(fmt.Sprintf("/many/t%d.html", i), doc{}))
		anchors = append(anchors, s.to(r.path))
	}
	for i := range behindTargets {
		r := s.add(s.page(fmt.Sprintf("/many/behind-%d.html", i), doc{}))
		r.want.Optional = true
		anchors = append(anchors, s.to(r.path))
	}
	body := manyBody()
	s.enter(&resource{path: "/many/", want: Expectation{Class: Stored}, links: anchors, answer: func(_ *request, buf *buffer) reply {
		buf.b = append(buf.b, body...)
		return reply{status: 200, ctype: htmlType, body: buf.b}
	}})
}

// manyBody is made once and before the first request: on a busy machine with the race detector,
// making it takes longer than the crawler of a test waits for an answer.
var manyBody = sync.OnceValue(func() []byte {
	b := []byte("<!DOCTYPE html><html><head><title>So many links</title></head><body>\n")
	for i := range manyLinks {
		if i < linksRead {
			b = fmt.Appendf(b, "<a href=\"t%d.html\">%d</a>\n", i%manyTargets, i)
		} else {
			b = fmt.Appendf(b, "<a href=\"behind-%d.html\">%d</a>\n", i%behindTargets, i)
		}
	}
	return append(b, "</body></html>\n"...)
})

// hostile adds links and markup that are meant to mislead a crawler or to crash it.
func (s features) hostile() {
	long := "/hostile/" + strings.Repeat("long-", 500) + "end.html"
	r := s.page(long, doc{text: "Nobody should have come this far."})
	r.want = Expectation{Class: Refused, Reason: ReasonTooLong, Optional: true}
	s.add(r)
	justFits := "/hostile/" + strings.Repeat("x", 2048-len(s.url("/hostile/"))-len(".html")) + ".html"
	s.add(s.page(justFits, doc{text: "This URL has 2,048 bytes."}))
	query := s.to("/?" + strings.Repeat("a=1&", 1000))
	query.target = ""
	s.enter(s.page("/hostile/long.html", doc{anchors: []anchor{s.to(long), s.to(justFits), query}}))

	var inner []anchor
	for _, u := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://127.0.0.1/", "http://localhost/", "http://10.0.0.1/", "http://192.168.1.1/admin",
		"http://[::1]/", "http://0.0.0.0/", "http://[fd00::1]/",
	} {
		inner = append(inner, anchor{href: u, target: u})
	}
	inner = append(inner, // two more spellings of the loopback address, and links to elsewhere
		anchor{href: "http://2130706433/a", target: "http://127.0.0.1/a"}, anchor{href: "http://0x7f.1/b", target: "http://127.0.0.1/b"},
		anchor{href: "http://elsewhere.example/", target: "http://elsewhere.example/"},
		anchor{href: "ftp://" + s.name + "/file"}, anchor{href: "file:///etc/passwd"}, anchor{href: "gopher://" + s.name + "/"})
	s.enter(s.page("/hostile/addresses.html", doc{anchors: inner}))

	s.add(s.page("/hostile/found.html", doc{}))
	found := s.to("/hostile/found.html")
	s.enter(s.page("/hostile/nested.html", doc{top: strings.Repeat("<div>", 20_000), anchors: []anchor{found}}))
	s.enter(s.page("/hostile/attributes.html", doc{top: "<p " + strings.Repeat("x ", 20_000) + ">", anchors: []anchor{found}}))
	s.enter(s.page("/hostile/nul.html", doc{top: "<p>\x00\x00<\x00a href=/nowhere/nul.html>\x00</p>\xff\xfe", anchors: []anchor{found}}))
	s.enter(s.page("/hostile/unclosed.html", doc{top: strings.Repeat("<table><b><i>", 300), anchors: []anchor{found}}))
	s.enter(s.page("/hostile/entities.html", doc{top: "<p>" + strings.Repeat("&amp;&#0;&#xffffffff;&lt", 5000) + "</p>", anchors: []anchor{found}}))
}
