// Package claims ensures that the crawls of a cluster are never at a host at the same time,
// whichever processes fetch for them.
//
// For each host there is a record in one bucket of all crawls. It says which crawl is there, or was
// last. A fetcher enters a host by writing the record, and the server refuses the write if anybody
// wrote the record meanwhile. So there is one claim on a host, and the claim's [wire.Lease] has to
// be alive whenever a request begins.
//
// No clock is compared with another one, and no clock of a server is read. A claim lasts a term
// from when its last write was sent. Others wait until they have seen the same write for one and a
// half terms, and then for the host's delay. They count from when the write first reached them,
// which is later. So a process that is stopped, killed or cut off sends nothing any more before
// another one begins. A record that was released contains how long the pause of the host is from
// then on, and they count it in the same way.
//
// Records are deleted some time after their last write. Each process measures this in the same way,
// by the revisions that it has seen.
//
// Within a crawl its frontier decides: the visits of a host follow one another with the host's
// delay between them. So a record of our own crawl, in use or not, may be claimed at once.
//
// Crawls take turns: the crawls that wait for a host are in its record, and when a claim is
// released the first of them has the host alone for half a term.
package claims
