package simweb

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
)

// hasSitemap reports whether the robots.txt names sitemaps.
func (s *site) hasSitemap() bool {
	return s.mirror == nil && (s.b.Robots == RobotsSitemap || slices.Contains(s.b.Features, FeatureSitemap))
}

// The paths of the first sitemaps.
const (
	sitemapIndex = "/sitemap-index.xml"
	sitemapUsual = "/sitemap.xml"
)

const sitemapNS = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`

// sitemaps adds sitemaps in every form, and pages that only they name: an index of two
// sitemaps, one of them gzipped, of an index of two feeds, and of itself; a text sitemap, and a
// redirect to it. Their entries for closed pages and for other hosts have no effect.
func (s features) sitemaps() {
	s.serve(sitemapIndex, "application/xml", xmlSitemap("sitemapindex", "sitemap", []string{
		s.url("/sitemap-a.xml"), s.url("/sitemap-b.xml.gz"), s.url("/sitemap-feeds.xml"), s.url(sitemapIndex), "http://stranger." + s.name + "/sitemap.xml"}))
	s.serve("/sitemap-a.xml", "application/xml", xmlSitemap("urlset", "url", append(s.unlinked("a-1", "a-2", "a-3"),
		s.url("/"), s.unlinkedAt("/private/unlinked.html"), "http://stranger."+s.name+"/")))
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write(xmlSitemap("urlset", "url", s.unlinked("b-1", "b-2")))
	z.Close() // writes to memory do not fail
	s.serve("/sitemap-b.xml.gz", "application/gzip", gz.Bytes())
	s.serve("/sitemap-feeds.xml", "application/xml", xmlSitemap("sitemapindex", "sitemap", []string{s.url("/rss.xml"), s.url("/atom.xml")}))
	rss, atom := "", ""
	for _, u := range s.unlinked("rss-1", "rss-2") {
		rss += "<item><title>news</title><link>" + u + "</link><pubDate>Fri, 02 Jan 2026 15:04:05 GMT</pubDate></item>\n"
	}
	for _, u := range s.unlinked("atom-1") {
		atom += `<entry><title>news</title><link href="` + u + `"/><updated>2026-01-02T15:04:05Z</updated></entry>` + "\n"
	}
	s.serve("/rss.xml", "application/rss+xml", []byte(`<rss version="2.0"><channel><link>`+s.url("/")+"</link>\n"+rss+"</channel></rss>\n"))
	s.serve("/atom.xml", "application/atom+xml", []byte(`<feed xmlns="http://www.w3.org/2005/Atom">`+"\n"+atom+"</feed>\n"))
	s.serve("/sitemap.txt", "text/plain; charset=utf-8", []byte(strings.Join(s.unlinked("text-1", "text-2"), "\n")+"\n"))
	s.add(&resource{path: "/sitemap-old.txt", want: Expectation{Class: Redirected, Location: s.url("/sitemap.txt")}, answer: always(redirect(301, "/sitemap.txt"))})
}

// sitemapPlace adds a sitemap that no robots.txt names, at the conventional path.
func (s features) sitemapPlace() {
	if !s.hasSitemap() {
		s.serve(sitemapUsual, "application/xml", xmlSitemap("urlset", "url", s.unlinked("place-1", "place-2")))
	}
}

// unlinked adds pages that only sitemaps name, and returns their URLs.
func (s features) unlinked(names ...string) (urls []string) {
	for _, name := range names {
		urls = append(urls, s.unlinkedAt("/unlinked/"+name+".html"))
	}
	return urls
}

func (s features) unlinkedAt(path string) string {
	s.add(s.page(path, doc{text: "Only a sitemap knows this page."}))
	s.robots.sitemapURLs = append(s.robots.sitemapURLs, s.url(path))
	return s.url(path)
}

func xmlSitemap(root, element string, urls []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%s%s>\n", root, sitemapNS)
	for i, u := range urls {
		fmt.Fprintf(&b, "<%s><loc>%s</loc><lastmod>2026-01-%02d</lastmod></%s>\n", element, u, i+1, element)
	}
	io.WriteString(&b, "</"+root+">\n")
	return b.Bytes()
}

func (s features) serve(path, ctype string, body []byte) {
	s.add(&resource{path: path, want: refused(ReasonType), answer: always(reply{status: 200, ctype: ctype, body: body})})
}

// readsSitemaps reports whether a crawler with that token may read what the site's sitemaps name.
func (s *site) readsSitemaps(token string) bool {
	at := sitemapUsual
	if s.hasSitemap() {
		at = sitemapIndex
	}
	return s.queuedBecause == "" && !s.forbidden(at, token)
}
