// Package e2e holds no code, only tests: frontier, fetcher and indexer together on an
// embedded NATS server, crawling the simulated web, judged by what that web knows of itself
// and by its request log.
package e2e
