// Package e2e contains only tests: frontier, fetcher and indexer together on an embedded NATS
// server, crawling the simulated web. The results are compared with what that web knows of itself,
// and with its request log.
package e2e
