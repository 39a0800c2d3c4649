// Command indexer stores the pages of a crawl, indexes their text, and answers searches. On
// its admin port it shows the dashboard of the whole crawl. It keeps its shards in --dir.
package main

import (
	"github.com/curtsy/curtsy/internal/daemons"
	"github.com/curtsy/curtsy/internal/indexer"
)

func main() {
	indexer.Trial()
	daemons.Main(daemons.Indexer)
}
