package daemons

import (
	"flag"
	"fmt"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

// NATSServer runs the NATS server in this program as if it were a separate program: with the flags,
// signals and output of nats-server as its own project publishes it. It ends the process.
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
	server.RedactArgs(os.Args) // secrets in arguments are not shown by the monitoring port
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
