// Package sitemap reads what a site says of its own pages: sitemaps and sitemap indexes in XML
// (sitemaps.org, protocol 0.9), lists of URLs as plain text, and RSS and Atom feeds used as
// sitemaps, each gzipped or not. It reads a stream and hands out one entry at a time, so a file of
// 50,000 URLs costs no more memory than one of ten.
//
// Read accepts anything within its limits and reports what was odd; one bad entry costs only
// itself. Entries are handed out as written: URLs are neither resolved nor judged. That is for the
// caller to do, who knows where the file came from.
package sitemap
