// Package service has what all processes of Curtsy share: the spec of their crawl, the admin port,
// and the ways to stop.
//
// The spec of a crawl is a key in the KV bucket of the crawl. Only ReadSpec, ChangeSpec and
// WatchSpec access it. ChangeSpec compares and sets, so that two commands cannot undo each other's
// change.
//
// A process is stopped by a command on the control subject of its crawl (Stop, Obey) or by a signal
// (Signals). Both end a context. When the Run of a service has returned, the service has released
// everything. Daemon combines all of this for a process that runs one service.
package service
