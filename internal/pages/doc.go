// Package pages is the page store: the latest copy of every page of one shard, in one bbolt file
// that one process owns.
//
// The life of a copy: the indexer hands Put a batch. For each URL the newest visit wins, so a
// replay, or a page that comes late, changes nothing. A page that asks not to be indexed, or is
// gone, leaves a tombstone with its visit: an older copy that arrives later cannot bring it back.
// Every change gets a number in the change journal, which holds one entry per URL, the latest.
// Search follows the journal from its own cursor; starting again at 0 reads every page once. A page
// that was fetched again and found the same, or was answered with 304, gets its new date and no
// journal entry, so a re-crawl costs what changed. The directives of the page's own markup are kept
// apart from those of the header, because a 304 replaces only the header's.
//
// The file's buckets, and why they are so:
//
//	meta     host, scheme, path → what is known of the page, or its tombstone. Keys begin with
//	         the host because a crawl brings pages of a host together: a commit touches a few
//	         leaves instead of one per page
//	bodies   page number → the body as it came (an S2 block). Apart from meta, so that listing
//	         reads no body; numbered in order of arrival, so that new bodies are appended to
//	         full leaves
//	changes  journal number → page key, one per URL
//	digests  journal number → sorted run of digests (see digests.go)
//	expires  unavailable_after, page number → page key
//	claims   page key → what in the page tells of datasets
//	parts    page key, NUL, visit, number → a part of a document that came in parts (see parts.go)
//	aliases  main page and alias → the newest word on whether it is one (see alias.go)
//	outbox   letter number → what other shards and the frontier must be told, written in the
//	         transaction of what it tells of
//	files    origin → its data.txt
//	archive  what internal/archive knows of the WARC files that it writes in the same transactions
//	forgotten, marks  how far a takedown has come; small facts
//	about    format, canonicaliser version, identity, counters
//
// A Store may be used by many goroutines; writers wait for one another. Readers hold no transaction
// while their callback runs, so a slow reader neither blocks writing nor makes the file grow.
package pages
