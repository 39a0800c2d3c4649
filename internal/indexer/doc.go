// Package indexer stores the pages a crawl brings, keeps their full text searchable, and answers questions about them.
//
// A page's way here: fetchers hand it over on the queue of its host's shard (crawl.Names.PagesSubject). The indexer
// takes what waits, up to a few megabytes and at most eight times a second, decides what may be kept (a page that says noindex,
// or whose unavailable_after has passed, is forgotten and remembered as such), reads its title, and puts the batch into
// the shard's page store with one fsync. Only then is it acknowledged: what a crash interrupts comes again and changes
// nothing the second time. Search follows the store from its own cursor in its own goroutine; it lags rather than
// holding the crawl up.
//
// A store that fails (a full disk) keeps its batch waiting, and through the queue the crawl. What still cannot be stored
// at its fifth delivery is given up: reported to the frontier as store-failed, logged, acknowledged.
//
// Who holds a shard: its pages have a home, the indexer on whose disk they are, written in the crawl's bucket under
// home.<shard>. Other indexers leave it alone even when it is down, since they could only start empty; its pages wait
// in the queue. Whoever has the page store that the home record names is its home, so moving a shard is copying its
// file. Within its home, ownership (indexer.<shard>) numbers each holder, and a newer one fences the older.
//
// Questions are answered over internal/ask while an indexer runs, and by a Reader from the files when none does, by the
// same code: pages, page, search, export, indexer-status.
package indexer
