// Command indexer is `curtsy indexer` as a program of its own: it stores the pages of a crawl,
// indexes their text, and answers searches. On its admin port it shows the dashboard of the whole
// crawl. It keeps its shards in --dir.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("indexer") }
