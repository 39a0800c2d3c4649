// Package fetcher talks to the web: it takes visits from the frontiers, carries them out
// politely, and publishes what came of them. It keeps no state between visits that anything hangs
// on; run as many as you like.
//
//	f, err := fetcher.New(q, spec, fetcher.Options{})
//	if err != nil { … }
//	err = f.Run(ctx)
//
// It is the only package that sends requests to sites, so politeness has one
// home. It has two rooms:
//
//   - [github.com/curtsy/curtsy/internal/fetcher/visit] is what a visit does, from its errands to
//     its outcome;
//   - [github.com/curtsy/curtsy/internal/fetcher/wire] sends one request, politely.
//
// Here visits are taken and their leases kept, and the streams are opened that they write to. A
// visit reaches them through a small interface, visit.Outlet, and what is sent passes wire.Hold,
// whoever asked for it: a visit to pages, a [Downloader], or a person at a prompt ([Manual]).
//
// # Downloads
//
// A [Downloader] is a fetcher without hands: its caller says which requests to send under a visit
// that is granted for that, one host at a time. The same rules hold for them. Nothing is published
// of what comes back; the outcome tells the frontier what the host was asked to bear.
//
// # When nobody answers
//
// Silence is no answer. A frontier that is dead or cut off is asked again, holding up no hand; a
// renewal that nobody answers is repeated until the lease ends, for the shard may be on its way to
// another frontier; an event that a log does not take waits for it. A shard whose pages find no
// room holds up its own visits only (backpressure.go).
package fetcher
