// Package fetcher talks to the web: it takes visits from the frontiers, carries them out politely,
// and publishes their results. It keeps no state between visits that is needed later, so any number
// of fetchers can run.
//
//	f, err := fetcher.New(q, spec, fetcher.Options{})
//	if err != nil { … }
//	err = f.Run(ctx)
//
// It is the only package that sends requests to sites, so politeness is ensured in one place. Its
// parts are packages below it. The two most important are
//
//   - [github.com/curtsy/curtsy/internal/fetcher/visit], which carries out one visit, from its
//     auxiliary requests to its outcome;
//   - [github.com/curtsy/curtsy/internal/fetcher/wire], which sends one request, politely.
//
// This package takes visits, renews their leases, and opens the streams to which they write. A
// visit uses them through a small interface, visit.Sink. Everything that is sent passes a
// wire.Session: requests of a visit, of a [Downloader], and of a person at a prompt ([Manual]).
//
// # Downloads
//
// A [Downloader] is a fetcher without slots: its caller says which requests to send in a visit that
// is granted for that, one host at a time. The same rules apply to them. What comes back is not
// published; the outcome reports to the frontier how many requests the host received.
//
// # When nobody answers
//
// No answer means nothing. A frontier that is dead or cut off is asked again, without occupying a
// slot. A renewal that nobody answers is repeated until the lease ends, because the shard may be
// moving to another frontier. An event waits until the log accepts it. A shard whose page queue is
// full delays its own visits only (backpressure.go).
package fetcher
