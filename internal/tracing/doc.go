// Package tracing reports visits to a collector of OpenTelemetry traces, over OTLP with HTTP. It is
// off unless an operator names a collector.
//
// A trace is one visit, from its grant to the pages in the search index:
//
//	grant            frontier: the host was due, and a fetcher asked for work
//	└ visit          fetcher: from the grant's arrival to the visit's last message
//	  ├ request      one for each request: robots.txt, page, auxiliary request
//	  ├ publish      the results are sent: first pages, then the outcome
//	  ├ apply        frontier: it applies an outcome
//	  ├ store        indexer: it stores the pages of the visit
//	  └ index        indexer: it indexes the pages of the visit
//
// No message carries anything for tracing. The ids of the trace and of its two parent spans are
// hashes of the crawl, the shard and the visit's number, which every process knows anyway. Each
// process therefore reports its own spans, and a process that crashes loses only its own.
//
// A span is made when the operation has ended, with the start and end times of that operation. If
// tracing is off, or the visit is not sampled, the pointer is nil: all methods of a nil *Tracer,
// *Crawl and *Visit do nothing.
package tracing
