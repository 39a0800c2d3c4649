// Package agentserver is a simulated server for mobile robots, so that tests can send robots in
// virtual time. It speaks ATP, verifies tickets as a real host does, and streams results in the
// same form. Whatever module it gets, it runs the page reader of a crawl, without a sandbox, on
// documents that the simulated site gives it.
//
//	opt := agentserver.Options{Address: address, Origin: origin, Documents: documents, Log: log}
//	host := agentserver.New(opt)
//	agentserver.Serve(ctx, conn, func(a atp.Address) *agentserver.Server { return host })
//
// A server may be slow, busy or forgetful ([Behavior]), and it may cheat ([Hostile]). What it does
// depends only on its seed and on what was asked before. Package simweb attaches servers to its
// sites; tests rarely need this package itself.
package agentserver
