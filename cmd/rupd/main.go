// Command rupd is `curtsy rupd` as a program of its own: it reports to robots what changed on a web
// site (the Remote Update Protocol). docs/rupd.md describes how to set it up.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("rupd") }
