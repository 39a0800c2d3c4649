// Package testaid has what tests of many packages need. Only tests import it.
//
//   - Volume and Runs decide how much of something a test does: less under the race detector, more
//     in `make long`.
//   - Until and Receive wait for an event where no bubble of virtual time is possible: with
//     processes, real sockets, Docker.
//   - Linear fails a test if work grows faster than its input. CheckCost does the same, and limits
//     memory as well, with HTMLBombs and JSONBombs: pages that are cheap to send and expensive to
//     read.
//   - OutputDiff compares the output of a program with the expected one, without times and figures.
//
// Nothing here starts a goroutine.
package testaid
