// Package dispatch decides when a mobile robot is sent for an origin, keeps what is known of it,
// and checks what it brought (design §7.7).
//
// A robots.txt may name servers to which mobile robots can be sent (formats §3). For each path for
// which it names one that may be used, the owner of the site's shard queues an auxiliary request
// with the host of that server: a dispatch. An origin has one dispatch at a time. Its life:
//
//   - wanted.go reads the robots.txt: which paths, and which servers.
//   - begin.go queues the dispatch when it is due. In the same transaction it reserves the number
//     of a visit, which the pages will carry, and pages of --max-pages. From then on the pages of
//     the origin wait.
//   - plan.go answers the fetcher, which asks what is known below the path.
//   - answer.go applies its progress and its end. An answer of another dispatch has no effect.
//   - verify.go has a sample of the pages fetched the ordinary way and compares them. If one
//     differs, the server is dropped for a while, and refetch.go has its pages fetched again.
//
// All of it is in the record of the origin (record.go), in the transaction of what caused it. An
// origin for which nothing is under way costs no memory: its record is found by the time when the
// next dispatch is due.
package dispatch
