package store

// The buckets of a shard's file. Every key that grows with the crawl begins with the four bytes of
// a host id, so that records that change together lie together: random keys make a bbolt file slow.
var (
	BucketMeta   = []byte("meta")   // the format and Meta
	BucketNames  = []byte("names")  // host name → host id
	BucketHosts  = []byte("hosts")  // host id → record of a host in memory (package hosts)
	BucketRobots = []byte("robots") // host id, origin → robots.txt, the last good copy
	BucketBlocks = []byte("blocks") // host id, kind, … → the largest parts of the file
	// Host id, origin index, pace, due (Unix s), order → nothing: URLs to be fetched again.
	BucketAgain = []byte("again")
	// Due (Unix ms), host id, order → nothing: URLs that wait for another attempt.
	BucketLater = []byte("later")
	// Host id → order of the first URL for which forgetting is decided again: see shard.Passes.
	BucketForget = []byte("forget")
	// Host id → order of the first URL that is retried: see shard.Passes.
	BucketRetry = []byte("retry")
	BucketAux   = []byte("errands") // host id, auxiliary request → nothing
	// Number → target shard, event: sent after the commit that contains it.
	bucketOutbox = []byte("outbox")

	// Host id, URL, origin → what is known of a sitemap (wellknown.Sitemaps).
	BucketSitemaps = []byte("sitemaps")
	// Host id, URL, origin → nothing: sitemaps that are to be read.
	BucketSitequeue = []byte("sitequeue")

	// Host id, URL → what is known of a nested data.txt (wellknown.DataFiles).
	BucketNested = []byte("nested")
	// Host id, origin → what is known of a site that reports its updates (updates.RUPSites).
	BucketRUP = []byte("rup")
	// Host id, origin → what is known of a site's use of IndexNow (updates.IndexNow).
	BucketIndexNow = []byte("indexnow")
	// Host id, origin, 0, number, part → URLs that wait until a key is verified.
	BucketIndexNowURLs = []byte("indexnow-urls")

	// Host id, URL, 0, origin → what is known of a feed (wellknown.Feeds).
	BucketFeeds = []byte("feeds")
	// Due (Unix s), key of a feed → nothing.
	BucketFeedsDue = []byte("feeds-due")
	// Host id, topic → a subscription at a hub (updates.WebSub).
	BucketWebSub = []byte("websub")
	// Host id, origin → what is known of the mobile robots that are sent for it (dispatch).
	BucketDispatches = []byte("dispatches")
	// Due (Unix s), key of BucketDispatches → nothing.
	BucketDispatchesDue = []byte("dispatches-due")
	// Key of BucketDispatches, 0, number → a page of which a mobile robot brought a copy.
	BucketDispatchSamples = []byte("dispatch-samples")
	// Key of BucketDispatches → visits whose pages are fetched again (dispatch).
	BucketDispatchRefetch = []byte("dispatch-refetch")
	// Host id, source, origin → how reliable hints proved (urls.Recrawl).
	BucketHints = []byte("hints")

	// Host id, day (since 1970, UTC), registered domain → number of requests to that domain for the
	// host's robots.txt files (wellknown.RobotsProxy).
	BucketRobotsProxy = []byte("hops")
	// Party, 0, party → when the allowance of requests that the second one causes to the first is
	// whole again (polite.Caused).
	BucketCaused = []byte("caused")
	// Host id, visit, number of earlier requests in it → the requests (schedule.Timeline).
	BucketTimeline = []byte("timeline")
	BucketDomains  = []byte("domains") // registered domain → counts (hosts.Domain)
	// Registered domain, 0, host id → nothing: names past the limit.
	BucketClosed = []byte("closed")
	// Host id → nothing: evicted hosts that were never visited and have queued URLs
	BucketWaiting = []byte("waiting")
	// Until when (Unix ms), host id → counts of its URLs: visited hosts that were evicted with work
	// (package hosts).
	BucketEvicted = []byte("resting")

	BucketHistory = []byte("history") // Unix s → sample of the shard's accounting (shard.History)

	// Origin that is not known yet, although its name with "www." is → 1
	BucketTwins = []byte("twins")

	allBuckets = [][]byte{BucketMeta, BucketNames, BucketHosts, BucketRobots, BucketBlocks, BucketLater, BucketAgain, BucketForget, BucketRetry,
		BucketAux, bucketOutbox, BucketTwins, BucketSitemaps, BucketSitequeue, BucketNested, BucketRUP, BucketIndexNow, BucketIndexNowURLs, BucketFeeds, BucketFeedsDue, BucketWebSub, BucketDispatches, BucketDispatchesDue, BucketDispatchSamples, BucketDispatchRefetch, BucketHints, BucketDomains, BucketClosed, BucketWaiting, BucketEvicted, BucketRobotsProxy, BucketCaused, BucketTimeline,
		BucketHistory}
)
