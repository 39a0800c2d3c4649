// Package pages is the page store: the latest copy of every page of one shard, in one bbolt file
// that one process owns. Package pagetext reads what is on the pages.
//
// The indexer passes batches of pages to Put. For each URL the newest visit wins, so a replay, or a
// page that arrives late, changes nothing. A page that requests not to be indexed, or that no
// longer exists, leaves a tombstone with its visit, so an older copy that arrives later cannot
// bring it back. Every change gets a number in the change feed, which has one entry for each URL:
// the latest. Search follows the feed with its own cursor; from 0 it reads every page once. A page
// that was fetched again without a change, or that was answered with 304, gets a new date and no
// entry in the feed, so a recrawl costs only what changed. The directives of a page's markup are
// stored separately from those of its header, because a 304 replaces only those of the header.
//
// The buckets of the file, and the reasons for them:
//
//	meta     host, scheme, path → what is known about the page, or its tombstone. Keys begin with
//	         the host because a crawl brings pages of a host together: a commit changes a few
//	         leaves instead of one per page
//	bodies   page number → the body as it came (an S2 block). It is separate from meta, so that a
//	         list reads no body. It is numbered in order of arrival, so that new bodies are
//	         appended to full leaves
//	changes  number in the change feed → page key, one per URL
//	digests  number in the change feed → sorted run of digests (see digests.go)
//	expires  unavailable_after, page number → page key
//	claims   page key → what the page states about datasets
//	parts    page key, NUL, visit, number → a part of a document that came in parts (see parts.go)
//	aliases  main page and alias → the newest report whether it is one (see alias.go)
//	outbox   message number → a message to another shard or to the frontier, written in the
//	         transaction that it reports
//	files    origin → its data.txt
//	archive  what internal/archive knows about the WARC files that it writes in the same
//	         transactions
//	forgotten, marks  the progress of a takedown; small facts
//	about    format, canonicaliser version, identity, counters
//
// A Store may be used by many goroutines. Writers wait for one another. Readers have no open
// transaction while their callback runs, so a slow reader neither blocks writing nor makes the file
// grow.
package pages
