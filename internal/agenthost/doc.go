// Package agenthost lets mobile robots work on a web site's own machine: it accepts them over ATP
// (pkg/atp), runs each in a sandbox, and keeps what they found until it is fetched. The command
// agenthost runs it. docs/mobile-robots.md is its manual.
//
// The life of a run, and who is responsible:
//
//   - A DISPATCH brings a signed ticket, an input and a module (handler.go, dispatch.go). Its key
//     must be on the allow-list, and the ticket must be for this host, this site, a subtree that
//     the key may read, and this time.
//   - Admission is one transaction (store.go): the ticket was not used before, the run is counted,
//     and the most that it may read, send and compute is reserved from the quotas of its key.
//   - The robot runs in a child process (package sandbox). It sees documents of its subtree that
//     robots.txt opens to its product token (documents.go), and nothing else. They are files
//     (walk.go), or what the sitemaps list (sitemaps.go). If the site's own server is known, it has
//     their octets and heads (server.go).
//   - What it sends is appended to a file of whole zstd frames (results.go), which FETCH reads
//     while the run goes on and afterwards, from any octet on.
//   - When it has ended, its file gets an end, and what was reserved and not used is given back. Of
//     a run that the host did not see ending, everything that was reserved counts as used.
//
// The memory of this process does not grow with what a robot reads, sends or asks.
package agenthost
