// Package indexer stores the pages a crawl brings, keeps their full text searchable, and answers
// questions about them.
//
// A page's way here: fetchers hand it over on the queue of its host's shard
// (crawl.Names.PagesSubject). The indexer takes what waits, up to a few megabytes and at most eight
// times a second, decides what may be kept (a page that says noindex, or whose unavailable_after
// has passed, is forgotten and remembered as such), reads its title, and puts the batch into the
// shard's page store with one fsync. Only then is it acknowledged: what a crash interrupts comes
// again and changes nothing the second time. Search follows the store from its own cursor in its
// own goroutine; it lags rather than holding the crawl up.
//
// A disk that is full or fails keeps the batch waiting, and through the queue the crawl; nothing is
// given up for it. Below a floor of free space (Options.MinFree) nothing is taken in at all. A page
// that cannot be stored although the store can be written is given up at its fifth delivery:
// reported to the frontier as store-failed, logged, acknowledged; its neighbours are stored.
//
// Which indexer has which shard, and where its pages are, is for internal/indexer/assignment to
// say.
//
// Questions are answered over internal/ask while an indexer runs, and by a Reader from the files
// when none does, by the same handlers: pages, page, search, export, indexer-status.
package indexer
