package daemons

import (
	"flag"
	"fmt"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

// NATSServer runs the NATS server that is part of this program. It has the flags, signals and
// output of the nats-server of its own project. It ends the process.
func NATSServer(args []string) {
	const name = "nats-server"
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintf(os.Stdout, "Usage: %s [options]\n\nThese are the options of the NATS server; https://docs.nats.io explains them.\n\n", name)
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
	}
	help := func() { flags.Usage(); os.Exit(0) }
	o, err := server.ConfigureOptions(flags, args, server.PrintServerAndExit, help, server.PrintTLSHelpAndDie)
	if err != nil {
		server.PrintAndDie(fmt.Sprintf("%s: %v", name, err))
	}
	if o.CheckConfig {
		fmt.Fprintf(os.Stderr, "%s: configuration file %s is valid (%s)\n", name, o.ConfigFile, o.ConfigDigest())
		os.Exit(0)
	}
	server.RedactArgs(os.Args) // the monitoring port must not show secrets in arguments
	s, err := server.NewServer(o)
	if err != nil {
		server.PrintAndDie(fmt.Sprintf("%s: %v", name, err))
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		server.PrintAndDie(err.Error())
	}
	s.WaitForShutdown()
	os.Exit(0)
}
