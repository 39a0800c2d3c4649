// Package frontier decides which URL is due, and when. It owns the crawl's state: which URLs are
// known, the outcome of each, and when each host may be visited again.
//
// # The life of a URL
//
// Unknown → seen: a link arrives in the event log of its host's shard. The shard that owns the log
// drops the link when it is out of scope or known. Otherwise it writes a record and puts the URL
// into its host's queue (shard.Links.Apply). A link of another shard comes with the outcome of the
// visit that found it, and is forwarded in one message with others (shard.Links.Receive).
//
// Seen → due: a host with work and without a visit is in the schedule at the time that its delay,
// its Retry-After and its robots.txt allow (schedule.Visits.Schedule).
//
// Due → in flight: a fetcher asks. The shard grants it a visit, which is one host, up to 64 of its
// URLs, and a lease (schedule.Visits.Grant). A host never has two visits at the same time. A grant
// is not logged and nothing is written: the URLs stay queued.
//
// In flight → done, or queued again: the outcome of the visit arrives in the log (shard.Outcomes).
// Each result counts if its visit is newer than the one recorded. The host is free again if the
// visit is the outstanding one. A visit that is not answered within its lease is over, and one full
// delay is waited (schedule.Visits.Expire).
//
// # Packages
//
// A shard is made of packages below this one; docs/design.md §12.2 has the table. This package
// acquires shards and hands them over, follows their logs, and matches fetchers with hosts that are
// due.
//
// # After a crash
//
// State, counts, outbox and the applied log sequence change in one bbolt transaction, which is
// committed every quarter of a second. A crash loses what was applied since, and the log replays
// it. Replaying has no further effect: links are known, and results are not newer than their
// record. Granted visits are forgotten. So nothing is granted until the log contains the outcome of
// each of them or its lease is over, and then every host counts as just visited (store.Phase).
//
// # Shards that move
//
// A crawl may have several frontiers. Each announces itself, and all compute the same assignment of
// shards (followMembers). The ownership record decides which may act (runShard).
//
// A shard is left in order (handOver): nothing is granted or renewed any more, the file is
// committed with the running visits and copied to NATS, and the shard is released. Its next owner
// continues at once, with those visits.
//
// A shard whose owner died is restored from its last checkpoint (restore.Files) and the log after
// it, which is kept for this purpose (restore.Checkpoints). A local file counts only if the owner
// that the record names wrote it last.
package frontier
