// Command frontier is `curtsy frontier` as a program of its own: it decides which URL of a crawl is
// due, and when. It owns shards of the crawl, keeps them in --dir, and grants visits to fetchers
// over NATS.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("frontier") }
