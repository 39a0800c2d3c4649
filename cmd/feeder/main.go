// Command feeder is `curtsy feeder` as a program of its own: it keeps another system in step with
// the stored pages of a crawl. The positions are where the pages are, so it can be stopped and
// started anywhere.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("feeder") }
