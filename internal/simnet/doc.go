// Package simnet is an in-memory network for tests, and the bubble that a whole crawl runs in.
//
//	func TestSomething(t *testing.T) {
//		simnet.Test(t, func(t *testing.T) {
//			net := simnet.New(simnet.Options{})
//			web := simweb.Start(simweb.Config{Listen: net.Listen})
//			opt := fetcher.Options{Dial: net.Dial}
//			…
//		})
//	}
//
// Inside Test time is virtual (testing/synctest): it moves only when every goroutine of the bubble
// waits, and then to the next timer at once. So a test may sleep, poll and set deadlines as it
// likes. It takes as long as its computations do, and a slow machine cannot make it fail.
//
// The network has listeners and connections with the addresses, errors and half-closes of TCP.
// Faults are put in by the address of a listener: latency, a bandwidth, a cut in which bytes wait,
// resets, and refused connections. Package broker, below, adds an embedded NATS server that does
// not listen.
//
// What cannot be in a bubble are child processes, real sockets and files that another process
// locks: a goroutine that waits for one of them is not seen as waiting, so time stands still until
// it has what it waits for.
package simnet
