// Command agenthost is `curtsy agenthost` as a program of its own: it lets mobile robots read a web
// site on its own machine. docs/mobile-robots.md describes how to set it up.
package main

import "github.com/curtsy/curtsy/internal/daemons"

func main() { daemons.Main("agenthost") }
