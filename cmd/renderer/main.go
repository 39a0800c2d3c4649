// Command renderer is `curtsy renderer` as a program of its own: it runs the scripts of pages for
// all fetchers of a NATS server, in browsers without network. It keeps no state: run as many as you
// like.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("renderer") }
