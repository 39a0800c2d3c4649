// Package simweb is a simulated web, so that tests can crawl without sending requests to the real
// one: many virtual hosts behind one listener, all determined by a seed.
//
//	srv, err := simweb.Start(simweb.Demo())
//	// crawl srv.Seeds() with --resolve srv.Resolve(), then
//	opts := requestlog.CheckOptions{Delay: requestlog.Every(100 * time.Millisecond)}
//	bad := requestlog.Check(srv.Log(), opts)
//	diff := srv.Diff("curtsy", outcomes)
//
// Each host is a tree of numbered pages of English-looking text, with a robots.txt of some kind
// ([Robots]) and any number of special parts ([Feature]): redirects, broken answers, encodings,
// traps. Because the package builds the sites, it knows without parsing which URLs a robots.txt
// forbids ([Web.Forbidden]) and what an obedient crawler makes of every URL that it can reach
// ([Web.Expect]). Because it is the origin, its request log ([Web.Log], or a file of JSON lines) is
// evidence: package requestlog finds requests in it that came too early, at the same time, or where
// they were not allowed.
//
// Sites do not change, so that a crawl can be compared with the expectation. A test of changes
// replaces answers with [Web.Override], which Forbidden and Expect ignore, or changes numbered
// pages with [Web.Change].
//
// Hosts may be copies of one another under other names ([Behavior].CopyOf), or have moved
// ([Behavior].MovedTo), or be available over TLS too ([Config].TLS). What they state about this in
// robots.txt can change ([Web.SetRobots]).
//
// # Serving
//
// [Start] runs its own small HTTP/1.1 server, because it must break the protocol on purpose and
// must cost little beside the crawler that it measures. [Web.ServeHTTP] offers the same sites with
// net/http, except for Behavior.DropReused, which needs to know the connection.
package simweb
