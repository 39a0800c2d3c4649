// Package assignment says which indexer has which shard, and where: it holds every shard that is
// this indexer's to hold, opens its page store, moves it to others, and has lost pages fetched
// again. What is done with a shard while it is held is the indexer's own business (Options.Serve).
//
// # Where a shard's pages are
//
// They have a home: the indexer on whose disk they are, written with the identity of its page store
// in the crawl's bucket under home.<shard>. That record is the truth: a store it does not name does
// not count. While the home is away its pages wait in the queue. Ownership (indexer.<shard>) says
// who may act for the shard and change its record; each owner's epoch names the consumer by which
// it takes pages, and making that deletes those of earlier epochs, so that nobody deposed can
// acknowledge a page.
//
// Who should be a shard's home follows from who is there (queue.Members, queue.Assign). One that is
// away keeps its share, so that a restart moves nothing; one the operator has retired
// (crawl.Retired) gets none; one whose disk is full gets nothing more.
//
//	no home yet          whom it falls to claims it with an empty store, or who has its file
//	home elsewhere       moves when it falls to another who has been there for a term: its home
//	                     parks a copy of the file in the object store; the other restores it
//	                     under a new identity and claims the record (move.go)
//	home away            waits; after Options.RebuildAfter, whom it falls to begins empty
//	home's file is gone  begins with an empty store at once
//
// Whoever begins empty in the place of a lost store tells the frontier (Event.StoreLost), after
// fencing, again at every start until the record says that it did; the frontier has those pages
// fetched again. The web is the second copy.
//
// A move costs reading, sending, storing and reading back the file once; meanwhile the shard's
// pages wait in the queue and questions about it are not answered. NATS must have room for one file
// at a time from each indexer, else the shard stays. The search index is not moved but made anew by
// the new home. 100,000 pages in a file of 655 MB took 11 s on two busy cores (m), most of it
// reading back.
//
// What a crash leaves at each step, and who goes on:
//
//	copying               the record is as it was: the home goes on with its file
//	parked                the new home restores; if it does not, the old one takes the shard back
//	restored, not claimed a file pages-<shard>.db.new that no record names; it is made again
//	claimed, not in place the record names pages-<shard>.db.new: put in place at the next start
//	old file not removed  the record lists it as moved: removed at the old home's next look
//	begun empty           as claimed; StoreLost is told again
package assignment
