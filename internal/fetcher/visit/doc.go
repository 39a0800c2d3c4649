// Package visit is what a visit does. A visit is the right to send requests to one host
// for the time of a lease; at most one exists for each host, whoever asks. A [Kit] makes
// one of what a frontier granted, Run carries it out, and Close tells what came of it
// through the visit's [Outlet].
//
// Nothing but robots.txt is fetched before robots.txt is known, its facts are in the log, and its
// rules allow it. How a request is sent is the matter of package wire.
//
// A site that refuses, moves or vanishes is an outcome, never an error. An error is our own
// failure: a wrong configuration, a queue out of reach.
//
// # Life of a visit
//
// Errands first: hops of redirected well-known files, sitemaps, what the mirror database wants to
// know. Then robots.txt of each origin that needs it, published before anything relies on it. Then
// each URL: its rules, the gate, the request, conditional if a copy is held, one pass over the
// page. Then pages are published and acknowledged, then many links for one other shard, then all
// other links together with the outcome, which ends the visit; a few links for other shards are
// passed on by the shard that applies it. What was not fetched is returned. Past its lease a
// fetcher sends no request, but it still publishes what it has.
//
// Redirects of robots.txt, data.txt, sitemaps and rupinfo.txt are followed by one loop (follow.go).
// Those of pages become links.
//
// # Large pages
//
// A page is cut at [Options].MaxBody bytes. One that is larger than a message even when compressed
// is cut further, until it fits; both are marked Truncated, and size and digest of the page are
// those of the part handed over. The digest in its result is that of what was read, by which the
// next copy is compared.
package visit
