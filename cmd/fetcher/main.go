// Command fetcher is `curtsy fetcher` as a program of its own: it fetches the pages of a crawl, or
// of several, politely. It asks frontiers for visits over NATS and keeps no state: run as many as
// you like.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("fetcher") }
