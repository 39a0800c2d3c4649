// Package engine runs a whole crawl in one process: an embedded NATS server, unless another one is
// given, and one of each service. `curtsy crawl`, the commands that open a stopped crawl, the
// end-to-end tests and the benchmarks use it.
//
//	e, err := engine.Open(ctx, engine.Options{Dir: dir, Plan: plan})
//	defer e.Close()
//	err = e.Run(ctx, nil) // until ctx ends
//
// It also knows the files in a data directory by which other processes find the crawl: the lock of
// a running crawl, the file with the address of its server (Dial), and the files that answer
// questions while the crawl is stopped (OpenFiles).
package engine
