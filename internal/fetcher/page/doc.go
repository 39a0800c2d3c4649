// Package page fetches one page that robots.txt allows ([Pages.Fetch]) and makes a result of it:
// the request is conditional if a copy is stored, the body is read once for robots tags, links and
// feeds, and the page goes to the indexer. Redirects become links, also on the same host: the seen
// set decides whether they are fetched, so nothing is fetched twice.
//
// Besides pages in HTML and text, documents such as PDF files are read (document.go), and JSON
// documents that describe datasets, long ones in parts (catalogue.go). What goes over the wire is
// published for the crawl's archive, if it has one (capture.go).
//
// # Large pages
//
// A page is cut at [Options].MaxBody bytes. A page that is larger than a message even when it is
// compressed is cut further, until it fits. Both are marked as truncated, and the size and digest
// of the page are those of the part that is published. The digest in its result is that of what was
// read, by which the next copy is compared.
package page
