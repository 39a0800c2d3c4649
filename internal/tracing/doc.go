// Package tracing tells a collector of OpenTelemetry traces what became of visits, over OTLP by
// HTTP. It is off unless an operator names a collector.
//
// A trace is one visit, from its grant to the pages in the search index:
//
//	grant            frontier: the host was due, and a fetcher asked
//	└ visit          fetcher: from the grant's arrival to the visit's last word
//	  ├ request      one for each request: robots.txt, page, errand
//	  ├ publish      what was found, handed over: pages, then the outcome
//	  ├ apply        frontier: an outcome, applied
//	  ├ store        indexer: pages of the visit, in its store
//	  └ index        indexer: pages of the visit, in its search index
//
// Nothing travels for it. The trace's id, and the ids of the two spans that others stand under,
// are a hash of the crawl, the shard and the visit's number, which every part knows anyway. So each
// part tells its spans by itself, and whoever dies leaves out no more than its own.
//
// Spans are made when what they tell of is over, with the times it took. Where tracing is off, or
// the visit is not among those sampled, there is a nil pointer and nothing else: all methods of a
// nil *Tracer, *Crawl and *Visit do nothing.
package tracing
