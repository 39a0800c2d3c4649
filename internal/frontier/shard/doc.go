// Package shard does what concerns all records of a shard.
//
//   - Links receives the links of pages, sitemaps and reports: known links are dropped, wanted ones
//     are queued with their host, the others are recorded with the reason.
//   - Passes goes through all records after a decision has changed (another spec, forgotten hosts,
//     URLs to retry, lost pages), in steps, so that the shard goes on working between them.
//   - Account answers questions about the shard: status, hosts, why a URL ended as it did, mirrors,
//     updates.
//   - History keeps samples of the counts, finer for recent times, and never more than a few
//     thousand, so that people can see the course of a crawl.
package shard
