// Package shard is one shard: its parts, connected (Parts), and what concerns all its records.
//
//   - Events applies the events of the shard's log, by a table of their kinds.
//   - Links receives the links of pages, sitemaps and reports: known links are dropped, wanted ones
//     are queued with their host, the others are recorded with the reason.
//   - Outcomes receives what visits report, and what an indexer reports about their pages.
//   - RobotsReports receives what is reported of robots.txt files.
//   - Specs applies a change of the spec, and previews the effect of another spec.
//   - Passes goes through all records after a decision has changed (another spec, forgotten hosts,
//     URLs to retry, lost pages), in steps, so that the shard goes on working between them.
//   - Account answers questions about the shard: status, hosts, why a URL ended as it did, mirrors,
//     updates.
//   - History keeps samples of the counts, finer for recent times, and never more than a few
//     thousand, so that people can see the course of a crawl.
package shard
