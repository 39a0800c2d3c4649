// Package engine is a whole crawl in one process: a NATS server of its own, unless there is another
// to use, and one of each service. `curtsy crawl`, the commands that take up a crawl at rest, the
// end-to-end tests and the benchmarks are all made of it.
//
//	e, err := engine.Open(ctx, engine.Options{Dir: dir, Plan: plan})
//	defer e.Close()
//	err = e.Run(ctx, nil) // until ctx ends
//
// It also knows what a crawl leaves in its data directory for others: the lock that says that it
// runs, the file that says how to reach it (Dial), and the files that answer for it when it rests
// (OpenFiles).
package engine
