// Package mobile has what a host of mobile robots, a robot and whoever sends it agree on: the
// signed [Ticket], the body of a DISPATCH, the stream of results, and the codes that functions of
// the host return to a robot. docs/mobile-robots.md describes them for authors of robots.
//
// A robot is a WebAssembly module. Its operator signs a ticket: this module, with this input, may
// run on that host, below that path of that site, until then, once. The host answers with an
// Agent-Id, by which the results are fetched while the robot runs and afterwards.
//
// Everything that is parsed here comes from strangers, so each field has a limit. The package does
// no I/O except on readers and writers that it is given, and reads no clock, because it is also
// compiled into robots.
package mobile
