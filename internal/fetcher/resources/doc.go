// Package resources keeps what rendered pages have requested: scripts, styles and data. The bundle
// of a site is then requested once, and not once for each of its pages.
//
// It is a cache of one process and one crawl, in memory, with a limit. How long an answer is used
// without asking again follows from its header as RFC 9111 says, with a least time that spares the
// site: see freshness.go. Afterwards it is validated with a conditional request. An answer with
// no-store is not kept.
package resources
