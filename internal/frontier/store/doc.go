// Package store keeps the file of a shard, and has the forms in which a shard keeps data on disk.
// It does not know what a host or a URL is.
//
// A File is one shard's bbolt file. Between two commits one writable transaction stays open
// (Transaction), and everything is read and written through it. A crash therefore loses only what
// the log can replay: the events after the sequence that was committed together with the state they
// made. The file also has the shard's state (Meta), messages that are sent after the commit that
// contains them (Outbox), and lines for the crawl log, which are written just before it (Lines).
// Commit defines the order. Phase is what the owner of the file may do with it.
//
// PackedMap and PackedSet keep small records close together in a bucket of a bbolt file. A record
// of its own costs 16 bytes beside key and value and repeats what its neighbours contain. Here
// neighbours share one value, a block, in which each record states only its difference from the one
// before. A PackedMap is a sorted map from keys to values, a PackedSet maps hashes to numbers. Keys
// begin with four bytes that name their owner (a host), and a block holds keys of one owner.
// Several maps and sets share a bucket, each with a kind of its own, so that the data of one host
// lies in one page while there is little of it. The key of an owner's first block is those four
// bytes and the kind. The key of each further block continues with the rest of a lower bound of the
// block's keys.
//
// Changes stay in memory until Flush writes them into the bucket. Flush must be called before the
// transaction is committed. A map or a set belongs to one transaction and must not be used
// concurrently. A block that makes no sense panics, as bbolt panics on its own pages: package
// boltfile turns that into an error.
//
// CrawlLogWriter writes the crawl log of a data directory, in files of a bounded size. CrawlLog
// reads it, a bounded part at a time. Reading keeps nothing and needs no lock: a line that is half
// written is not read yet, and a file that was renamed is found under its new name.
//
// Metrics are the frontier's counters. They follow the conventions of Prometheus; no label contains
// a host or a URL.
package store
