// Package claims keeps the crawls of a cluster from being at a host together, whichever processes
// fetch for them.
//
// For each host there is a record in one bucket of all crawls. It says who is there, or was last. A
// fetcher enters a host by writing the record anew, and the server refuses that if anybody wrote it
// meanwhile. So there is one claim on a host, and the claim's [wire.Lease] has to be alive whenever
// a request begins.
//
// No clock is compared with another one, and none of a server is read. A claim lasts a term from
// when its last writing was sent. Others wait until they have seen the same writing for one and a
// half terms, and for the host's delay on top; they count from when it first reached them, which is
// later. So whoever is stopped, killed or cut off is silent before anybody else begins. A record
// that was released says how long the host rests from then on, and they count that in the same way.
//
// Records are deleted a while after their last writing. Each process measures this in the same way,
// by the revisions that it has seen.
//
// Within a crawl its frontier decides: it has the visits of a host follow one another with the
// host's delay between them. So a record of our own crawl, in use or not, may be taken at once.
//
// Crawls take turns: who waits for a host stands in its record, and when a claim is released the
// first of them has the host to itself for half a term.
package claims
