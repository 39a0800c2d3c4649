// Package sitemap reads the lists in which a site names its own pages: sitemaps and sitemap indexes
// in XML (sitemaps.org, protocol 0.9), lists of URLs as plain text, and RSS and Atom feeds used as
// sitemaps, each with or without gzip. It reads a stream and returns one entry at a time, so a file
// of 50,000 URLs needs no more memory than one of ten.
//
// Read accepts any input within its limits and reports oddities; an invalid entry has no effect on
// others. Entries are returned as written: URLs are neither resolved nor checked. The caller does
// this, because it knows where the file came from.
package sitemap
