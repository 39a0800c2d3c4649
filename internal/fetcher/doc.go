// Package fetcher talks to the web: it takes visits from the frontiers, carries them out politely, and publishes what
// came of them. It keeps no state between visits that anything hangs on; run as many as you like.
//
//	f, err := fetcher.New(q, spec, fetcher.Options{})
//	if err != nil { … }
//	err = f.Run(ctx)
//
// It is the only package that sends requests to sites, so politeness has one home. A visit is the right to send requests
// to one host for the time of a lease; at most one exists per host, whoever asks. Under it,
//
//   - a request is sent only through the [Gate], which holds one request at a time and the delay from the end of a
//     response to the next start;
//   - a second piece of code, which shares nothing with the gate, checks each request at the moment its bytes would go
//     out (check.go). It must never object; when it does, the request is not sent and
//     curtsy_politeness_violations_total counts it;
//   - no request starts once the lease has run out, by a clock that goes on in suspend; one under way is cut off;
//   - nothing but robots.txt is asked for before robots.txt is known, its facts are in the log, and its rules allow it;
//   - the address actually dialled passes a guard (address.go), whatever name, redirect or --resolve led to it.
//
// When any of these is in doubt, the request is not sent.
//
// A site that refuses, moves or vanishes is an outcome, never an error. An error is our own failure: a wrong
// configuration, a queue out of reach.
//
// # Life of a visit
//
// Errands first: hops of redirected well-known files, sitemaps, what the mirror database wants to know. Then robots.txt of
// each origin that needs it, published before anything relies on it. Then each URL: its rules, the gate, the request,
// conditional if a copy is held, one pass over the page. Then pages are published and acknowledged, then links for other
// shards, then links for the visit's own shard together with the outcome, which ends the visit. What was not fetched is
// returned. Past its lease a fetcher sends no request, but it still publishes what it has.
//
// # Downloads
//
// A [Downloader] is a fetcher without hands: its caller says which requests to send under a visit that is granted for that, one
// host at a time. All of the above holds for them. Nothing is published of what comes back; the outcome tells the frontier what
// the host was asked to bear.
//
// # When nobody answers
//
// Silence is no answer. A frontier that is dead or cut off is asked again, holding up no hand; a renewal that nobody answers
// is repeated until the lease ends, for the shard may be on its way to another frontier; an event that a log does not take
// waits for it. A shard whose pages find no room holds up its own visits only (jams.go).
//
// # Large pages
//
// A page is cut at [Options].MaxBody bytes. One that is larger than a message even when compressed is cut further, until
// it fits; both are marked Truncated, and size and digest of the page are those of the part handed over. The digest in its
// result is that of what was read, by which the next copy is compared.
package fetcher
