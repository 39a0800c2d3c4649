// Package hosts keeps the hosts and origins of one shard, the auxiliary requests that are wanted of
// them, and the file they are stored in.
//
// A Ledger is one shard's bbolt file with the transaction that is open between two commits, its
// hosts, the outbox (messages for other shards and for the indexers) and the crawl log. Between two
// commits one writable transaction stays open, and everything is read and written through it. A
// crash therefore loses only what the log can replay: the events after the sequence that was
// committed together with the state they made.
//
// Features are what a shard does beside crawling URLs: sitemaps, data files, mirrors, updates,
// robots.txt read for other hosts. Each feature registers what it does when an origin is worth
// asking, when the spec changes, and when an auxiliary request of its kinds is wanted, granted or
// answered. The code that causes such an event does not need to know the features.
package hosts
