// Package plan says what a crawl would do before any page is asked for: how many pages sitemaps
// name, which of them robots.txt closes, how long the rest takes at the delays that hosts want.
//
// It is a crawl of its own, made of the same frontier, fetcher and indexer, in a directory of its
// own. Its spec says that it is only planned (crawl.Spec.PlanOnly). So each URL goes as far as the
// point at which its page would be asked for, under the rules, delays, limits and guards of any
// crawl, and is counted there. What was read for that are robots.txt, sitemaps and data.txt,
// whether there is a data.json beside it, and with another purpose than search what else sites say
// of use apart from robots.txt.
package plan
