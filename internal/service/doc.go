// Package service is what every Curtsy process has in common: the spec it follows, its admin
// port, its way to stop.
//
// The spec of a crawl lives in the crawl's KV bucket under one key. ReadSpec, ChangeSpec (by
// compare-and-set, so that two commands cannot undo each other's change) and WatchSpec are the only
// code that touches it.
//
// Stopping is a word on the crawl's control subject (Tell, Obey) or a signal (Signals); both end a
// context, and a service whose Run has returned has released what it held. Daemon puts all of it
// together for a process that runs one service.
package service
