package main

import (
	"github.com/curtsy/curtsy/internal/daemons"
	"github.com/spf13/cobra"
)

// natsServerCommand is hidden: who runs a cluster takes the nats-server of its own project. It is
// here for the container image, which holds one program.
func natsServerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nats-server [options]", Short: "Run the NATS server that is part of this program",
		Hidden: true, DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { daemons.NATSServer(args) },
	}
}
