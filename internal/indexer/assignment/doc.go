// Package assignment decides which indexer has which shard, and where its pages are. It owns every
// shard that belongs to this indexer, opens its page store, moves it to other indexers, and has
// lost pages fetched again. The indexer decides what to do with a shard while it owns it
// (Options.Serve).
//
// # Where a shard's pages are
//
// Each shard has a primary: the indexer that has its pages on disk. The primary is recorded
// together with the identity of its page store in the bucket of the crawl, under home.<shard>. This
// record is the truth: a store that it does not name does not count. While the primary is away, the
// pages of the shard wait in the queue. Ownership (indexer.<shard>) decides who may act for the
// shard and change its record. The epoch of each owner names the consumer by which it takes pages.
// Making that consumer deletes those of earlier epochs, so that no former owner can acknowledge a
// page.
//
// Which indexer should be the primary of a shard follows from the list of members (queue.Members,
// queue.Assign). An absent member keeps its share, so that a restart moves nothing. One that the
// operator has retired (crawl.Retired) gets none. One whose disk is full gets nothing more.
//
//	no primary yet         the indexer to which the shard is assigned claims it with an empty store,
//	                       or the indexer that has its file
//	another primary        the shard moves when it was assigned to another present indexer for a
//	                       term: the primary puts a copy of the file into the object store, and the
//	                       other restores it under a new identity and claims the record (move.go)
//	primary away           the shard waits; after Options.RebuildAfter the indexer to which it is
//	                       assigned begins with an empty store
//	primary without file   begins with an empty store at once
//
// An indexer that begins empty in place of a lost store notifies the frontier (Event.StoreLost)
// after fencing, and again at every start until the record says that it did. The frontier then has
// the pages fetched again. The web is the second copy.
//
// A move costs reading, sending, storing and reading back the file once. Meanwhile the pages of the
// shard wait in the queue, and questions about it are not answered. NATS must have space for one
// file at a time from each indexer, otherwise the shard stays. The search index does not move: the
// new primary builds it again. 100,000 pages in a file of 655 MB took 11 s on two busy cores (m),
// most of it for reading back.
//
// What a crash leaves at each step, and which indexer continues:
//
//	copying               the record is unchanged: the primary continues with its file
//	copied                the new primary restores the copy; if it does not, the old one takes the
//	                      shard back
//	restored, not claimed a file pages-<shard>.db.new that no record names; it is made again
//	claimed, not in place the record names pages-<shard>.db.new: the next start puts it in place
//	old file not removed  the record lists it as moved: the old primary removes it later
//	begun empty           as claimed; StoreLost is sent again
package assignment
