// Package plan reports what a crawl would do before any page is requested: how many pages the
// sitemaps name, which of them robots.txt forbids, and how long the rest takes with the delays of
// the hosts.
//
// A plan is a crawl with the same frontier, fetcher and indexer, in a directory of its own. Its
// spec has crawl.Spec.PlanOnly. Each URL goes through the rules, delays, limits and guards of any
// crawl, up to the point at which its page would be requested. There it is counted instead. A plan
// requests only robots.txt, sitemaps, data.txt and data.json, and for purposes other than search
// the rights files of sites.
package plan
