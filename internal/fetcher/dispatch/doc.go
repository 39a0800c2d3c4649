// Package dispatch carries out dispatches: it sends a mobile robot to a server that a site names in
// its robots.txt, fetches what the robot found, and makes pages of it ([Carry]).
//
// A dispatch is an auxiliary request of the server's host. Each exchange with the server is a
// request of that visit, with the delay of the host between two of them. The pages belong to the
// site, and go to its shard under the visit that the shard reserved for them, by a publisher of
// their own.
//
//  1. The owner of the site's shard is asked for the plan: what is known of the site, and whether a
//     run was begun before (plan.go).
//  2. The robot is sent, first without its module, which most servers have already (exchange.go).
//     The Agent-Id is published before anything else, so that another fetcher can go on.
//  3. The results are fetched, from an octet on, until they end (fetch.go). A connection may end at
//     any time; the next FETCH begins at the zstd frame with the first record that was not
//     published (stream.go).
//  4. Each record is checked: path, server, rules and scope (check.go). Then it becomes a page as
//     if it had been requested (bundle.go), and one of some random pages is remembered for the
//     comparison with what the site serves (sample.go).
//
// # What a server can do
//
// Everything that a server sends is untrusted. It is limited in size, compressed and decompressed,
// in the ratio of both, in time, in silence, in pages, and in records that may not be used; see the
// constants in fetch.go and bundle.go. Whatever breaks a limit or cannot be parsed ends the
// dispatch, with a reason for people. What had been published before stays, and is compared with
// the site like that of any other dispatch. If the run may still go on, it is retracted.
//
// # What a kill leaves
//
// The position in the results and the pages up to it are in one event, so that the fetcher that is
// granted the dispatch next continues where this one was. Pages that were published without their
// event are published again, under the same visit, and count once.
package dispatch
