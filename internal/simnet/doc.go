// Package simnet is an in-memory network for tests, and the bubble in which a whole crawl runs.
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
// Inside Test time is virtual (testing/synctest): it advances only when every goroutine of the
// bubble waits, and then immediately to the next timer. So a test may sleep, poll and set deadlines
// freely. It takes only the time of its computations, and a slow machine cannot make it fail.
//
// The network has listeners and connections with the addresses, errors and half-closes of TCP.
// Faults are set by the address of a listener: latency, a bandwidth, a cut during which bytes wait,
// resets, and refused connections. Package broker, below, adds an embedded NATS server that does
// not listen.
//
// Child processes, real sockets and files that another process locks cannot be used in a bubble: a
// goroutine that waits for one of them does not count as waiting, so time does not advance until
// the wait is over.
package simnet
