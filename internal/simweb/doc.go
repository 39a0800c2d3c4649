// Package simweb is a web to crawl without touching the web: many virtual hosts behind one
// listener, all of it a function of a seed.
//
//	srv, err := simweb.Start(simweb.Demo())
//	// crawl srv.Seeds() with --resolve srv.Resolve(), then
//	bad := simweb.Check(srv.Log(), simweb.CheckOptions{Delay: simweb.Every(100 * time.Millisecond)})
//	diff := srv.Diff("curtsy", outcomes)
//
// Each host is a tree of numbered pages of English-looking text, with a robots.txt of some kind
// ([Robots]) and any number of special corners ([Feature]): redirects, broken answers, encodings,
// traps. Because the package builds the sites, it knows without parsing anything which URLs a
// robots.txt forbids ([Web.Forbidden]) and what an obedient crawler makes of every URL it can reach
// ([Web.Expect]). Because it is the origin, its request log ([Web.Log], or a file of JSON lines) is
// evidence: [Check] and [CheckFile] find requests that came too early, at the same time, or where
// they were not allowed.
//
// Sites stand still, so that a crawl can be compared with what was expected. A test about change
// puts other answers in their place with [Web.Override], of which Forbidden and Expect know
// nothing, or lets numbered pages become others with [Web.Change].
//
// Hosts may be copies of one another under other names ([Behavior].CopyOf), or have moved
// ([Behavior].MovedTo), or be there over TLS too ([Config].TLS); what they say of that in
// robots.txt can change ([Web.SetRobots]).
//
// # Time in the log
//
// Start is taken when a request's head has been read. End is taken just before the last piece of
// the answer is handed to the kernel: the client cannot have had the whole answer earlier, so a gap
// too short by this log is too short by any clock, and a busy machine cannot make a polite crawler
// look rude. If the client closes while the answer is still being written (or waited for), End is
// the moment the close was noticed and Aborted is set; a busy machine may notice late, which is
// what [CheckOptions].AbortTolerance is for. An answer that fits the kernel's buffers is never
// Aborted. All times of one process follow the monotonic clock, in the file too.
//
// # Serving
//
// [Start] runs its own small HTTP/1.1 server, because it must break the protocol on purpose and
// must cost little beside the crawler it measures. [Web.ServeHTTP] offers the same sites under
// net/http, except Behavior.DropReused, which needs to know the connection.
package simweb
