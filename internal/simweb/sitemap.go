package simweb

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
)

// hasSitemap tells whether the robots.txt names sitemaps.
func (s *site) hasSitemap() bool {
	return s.mirror == nil && (s.b.Robots == RobotsSitemap || slices.Contains(s.b.Features, FeatureSitemap))
}

const sitemapNS = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`

// buildSitemaps adds an index of two sitemaps, one of them gzipped, a text sitemap, and pages only they know.
func (s *site) buildSitemaps() {
	unlinked := func(names ...string) (urls []string) {
		for _, name := range names {
			r := s.add(s.page("/unlinked/"+name+".html", doc{text: "Only a sitemap knows this page."}))
			urls = append(urls, s.url(r.path))
		}
		s.robots.sitemapURLs = append(s.robots.sitemapURLs, urls...)
		return urls
	}
	xml := func(root, element string, urls []string) []byte {
		b := fmt.Appendf(nil, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%s%s>\n", root, sitemapNS)
		for i, u := range urls {
			b = fmt.Appendf(b, "<%s><loc>%s</loc><lastmod>2026-01-%02d</lastmod></%s>\n", element, u, i+1, element)
		}
		return fmt.Appendf(b, "</%s>\n", root)
	}
	serve := func(path, ctype string, body []byte) {
		s.add(&resource{path: path, want: refused(ReasonType), answer: always(reply{status: 200, ctype: ctype, body: body})})
	}
	serve("/sitemap-index.xml", "application/xml", xml("sitemapindex", "sitemap", []string{s.url("/sitemap-a.xml"), s.url("/sitemap-b.xml.gz")}))
	serve("/sitemap-a.xml", "application/xml", xml("urlset", "url", append(unlinked("a-1", "a-2", "a-3"), s.url("/"))))
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	io.WriteString(z, string(xml("urlset", "url", unlinked("b-1", "b-2"))))
	z.Close() // writes to memory do not fail
	serve("/sitemap-b.xml.gz", "application/gzip", gz.Bytes())
	text := ""
	for _, u := range unlinked("text-1", "text-2") {
		text += u + "\n"
	}
	serve("/sitemap.txt", "text/plain; charset=utf-8", []byte(text))
}
