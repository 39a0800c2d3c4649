// Package indexer stores the pages of a crawl, keeps their full text searchable, and answers
// questions about them.
//
// Fetchers publish a page on the queue of its host's shard (crawl.Names.PagesSubject). The indexer
// takes what waits there, up to a few megabytes and at most eight times a second. It decides what
// may be stored: a page with noindex, or whose unavailable_after has passed, leaves only a
// tombstone. It reads the title of each page, and puts the batch into the page store of the shard
// with one fsync. Only then is the batch acknowledged. What a crash interrupts comes again, and the
// second time it changes nothing. Search follows the store with its own cursor in its own
// goroutine: it may lag, and never delays the crawl.
//
// If the disk is full or fails, the batch waits, and through the queue the crawl waits; nothing is
// lost. Below a minimum of free space (Options.MinFree) nothing is stored at all. A page that
// cannot be stored although the store can be written is given up after its fifth delivery: it is
// reported to the frontier as store-failed, logged and acknowledged, and the other pages are
// stored.
//
// internal/indexer/assignment decides which indexer has which shard, and where its pages are.
//
// While an indexer runs, it answers questions over internal/ask. Otherwise a Reader answers them
// from the files, with the same handlers: pages, page, search, export, indexer-status.
package indexer
