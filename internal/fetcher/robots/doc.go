// Package robots decides what a visit may request of an origin: by its robots.txt, its rights
// files, and what pages and headers say about the use of pages.
//
// [Sites.Of] returns an origin as a [Site]. Its robots.txt is known to the frontier, or it is
// requested, and what was learnt is published before anything relies on it. [Sites.Ask] says
// whether a URL may be requested, and if not why. [Sites.Usage] gathers the statements on the use
// of an answer, and [Sites.Unwanted] says whether they forbid all that the crawl is for.
//
// A [Cache] keeps the parsed rules of a process. [Sites] belongs to the goroutine of its visit.
package robots
