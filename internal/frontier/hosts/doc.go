// Package hosts keeps the hosts and origins of one shard, and the auxiliary requests that are
// wanted of them.
//
// A Ledger is the hosts of one shard with the file in which they are stored (store.File). A host in
// memory is changed by methods that say what happens to it, and its record is written with the next
// commit. Which hosts are in memory follows from one rule (evict.go).
//
// Features are what a shard does beside crawling URLs: sitemaps, data files, mirrors, updates,
// robots.txt read for other hosts. Each feature registers what it does when an origin is worth
// asking, when the spec changes, and when an auxiliary request of its kinds is wanted, granted or
// answered. The code that causes such an event does not need to know the features.
package hosts
