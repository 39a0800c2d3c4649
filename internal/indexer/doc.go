// Package indexer stores the pages a crawl brings, keeps their full text searchable, and answers questions about them.
//
// A page's way here: fetchers hand it over on the queue of its host's shard (crawl.Names.PagesSubject). The indexer
// takes what waits, up to a few megabytes and at most eight times a second, decides what may be kept (a page that says noindex,
// or whose unavailable_after has passed, is forgotten and remembered as such), reads its title, and puts the batch into
// the shard's page store with one fsync. Only then is it acknowledged: what a crash interrupts comes again and changes
// nothing the second time. Search follows the store from its own cursor in its own goroutine; it lags rather than
// holding the crawl up.
//
// A disk that is full or fails keeps the batch waiting, and through the queue the crawl; nothing is given up for it. Below a floor
// of free space (Options.MinFree) nothing is taken in at all. A page that cannot be stored although the store can be written is given
// up at its fifth delivery: reported to the frontier as store-failed, logged, acknowledged; its neighbours are stored.
//
// # Where a shard's pages are
//
// They have a home: the indexer on whose disk they are, written with the identity of its page store in the crawl's bucket under
// home.<shard>. That record is the truth: a store it does not name does not count. While the home is away its pages wait in
// the queue. Ownership (indexer.<shard>) says who may act for the shard and change its record; each owner's epoch names the consumer by
// which it takes pages, and making that deletes those of earlier epochs, so that nobody deposed can acknowledge a page.
//
// Who should be a shard's home follows from who is there (queue.Members, queue.Assign). One that is away keeps its share, so that a
// restart moves nothing; one the operator has retired (crawl.Retired) gets none; one whose disk is full gets nothing more.
//
//	no home yet          whom it falls to claims it with an empty store, or whoever has a file of it
//	home elsewhere       moves when it falls to another who has been there for a term: its home parks a copy of the file
//	                     in the object store, the other restores it under a new identity and claims the record (move.go)
//	home away            waits; after Options.RebuildAfter whom it falls to begins with an empty store
//	home's file is gone  begins with an empty store at once
//
// Whoever begins empty in the place of a lost store tells the frontier (Event.StoreLost), after fencing, again at every start until the record
// says that it did; the frontier has those pages fetched again. The web is the second copy.
//
// A move costs reading, sending, storing and reading back the file once; meanwhile the shard's pages wait in the queue and
// questions about it are not answered. NATS must have room for one file at a time from each indexer, else the shard stays. The search
// index is not moved but made anew by the new home. 100,000 pages in a file of 655 MB took 11 s on two busy cores (m), most of it
// reading back.
//
// What a crash leaves at each step, and who goes on:
//
//	copying               the record is as it was: the home goes on with its file
//	parked                the new home restores; or, when it does not, the old one takes the shard back with its file
//	restored, not claimed a file pages-<shard>.db.new that the record does not name; it is made again
//	claimed, not in place pages-<shard>.db.new is what the record names: put in its place at the next start
//	old file not removed  the record lists its identity as moved: removed at the old home's next look
//	begun empty           as claimed; StoreLost is told again
//
// Questions are answered over internal/ask while an indexer runs, and by a Reader from the files when none does, by the
// same code: pages, page, search, export, indexer-status.
package indexer
