package main

import (
	"github.com/curtsy/curtsy/internal/daemons"
	"github.com/spf13/cobra"
)

// natsServerCommand is hidden: an operator of a cluster uses the nats-server of the NATS project.
// The container image, which has only one program, uses this one.
func natsServerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nats-server [options]", Short: "Run the NATS server that is part of this program",
		Hidden: true, DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { daemons.NATSServer(args) },
	}
}
