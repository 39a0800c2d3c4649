// Package urls keeps the records of a shard's URLs and their indexes: the seen set, the queue of
// each host, the URLs that wait, the counts of each class and reason, and the plan of what is
// fetched again. URLs.SetState is the one place where a URL changes its class, so that the indexes
// always agree with the records.
//
// Recrawl decides when a page is fetched again: how often it changes, which of its changes are only
// noise, what sites and sitemaps report about it, and which pages a visit takes first.
package urls
