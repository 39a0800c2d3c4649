// Package visit carries out visits. A visit is the right to send requests to one host for the time
// of a lease. Each host has at most one visit at a time. [Deps.New] makes a Visit of what a
// frontier granted, [Visit.Run] carries it out, and [Visit.Close] publishes its results through the
// visit's [Sink].
//
// Nothing but robots.txt is requested of an origin before its robots.txt is known, what was learnt
// is in the log, and the rules allow the request. How a request is sent is decided by package wire.
//
// A site that refuses, moves or vanishes is an outcome, never an error. An error is our own
// failure: a wrong configuration, or a queue that cannot be reached.
//
// # Life of a visit
//
// Auxiliary requests come first: redirected robots.txt files, sitemaps and other well-known files,
// and what the mirror database asks. Then robots.txt is requested of each origin that needs it, and
// published before anything relies on it. Then each URL is fetched: its rules, the gate, the
// request, conditional if a copy is stored, and one pass over the page. Then pages are published
// and acknowledged, then many links of one other shard, then all other links with the outcome,
// which ends the visit. A few links of other shards are forwarded by the shard that applies it.
// URLs that were not fetched are returned. After the end of its lease a visit sends no request, but
// it still publishes what it has.
//
// # Where the parts are
//
// This package decides the order, and makes the results. The parts of a visit are packages beside
// it: requests sends the requests and keeps their account, robots decides what may be requested,
// wellknown fetches well-known files, page fetches pages, and publish publishes the results.
package visit
