// Package publish publishes what a visit found, in an order in which each step is safe to lose what
// follows: pages first, then the links on them, then the outcome, which says that all of it is
// there, with the links that are few. Each step is acknowledged before the next begins.
//
// A visit goes through these steps several times: [Publisher.Report] publishes what was not
// published yet, and the last one ends the visit. If the process is killed, only what was not
// reported is requested again. Whatever is published twice counts once.
//
// Pages go to the indexer of the visit's shard through a [Sink], in batches. Events go to the logs
// of shards, which their frontiers apply. A full log, or a broker that is away, is waited out until
// the publisher's context ends. Then the visit is lost ([Publisher.Lost]): nothing more of it is
// published, and its URLs are granted again after its lease.
package publish
