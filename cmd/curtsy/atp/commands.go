// Package atp has the commands that send mobile robots to a host by hand, and fetch their results.
package atp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/version"
	protocol "github.com/curtsy/curtsy/pkg/atp"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	cmd := &cobra.Command{
		Use:   "atp",
		Short: "Send a mobile robot to a host and fetch its results",
		Long: `Send a mobile robot to a host that accepts it, and fetch its results (Agent Transfer Protocol). A
host is a web site's own server for robots, such as curtsy agenthost. Its owner must have allowed
your key: curtsy agenthost key FILE makes one, and prints the entry for the owner.`,
		Example: `  curtsy atp dispatch --key robot.pem --site https://www.example.org --subtree /docs/ --token ExampleBot atp://www.example.org:10434
  curtsy atp fetch --to documents atp://www.example.org:10434 0123456789abcdef0123456789abcdef`,
	}
	cmd.AddCommand(c.dispatchCommand(), c.fetchCommand(), c.stateCommand(protocol.Message), c.stateCommand(protocol.Retract))
	return []*cobra.Command{cmd}
}

// hostAddress parses the address of a host.
func hostAddress(text string) (protocol.Address, error) {
	a, err := protocol.ParseAddress(text)
	if err != nil {
		return a, app.Usage("%q is not an address of a host (%v); use for example atp://www.example.org:10434", text, err)
	}
	return a, nil
}

const exampleRun = "atp://www.example.org:10434 0123456789abcdef0123456789abcdef"

// addressAndID accepts the address of a host and the Agent-Id of a run.
func addressAndID(cmd *cobra.Command, args []string) error {
	if len(args) != 2 || !protocol.ValidAgentID(args[1]) {
		return app.Usage("%s needs the address of a host and the Agent-Id that dispatch printed; use for example: %s %s", cmd.CommandPath(), cmd.CommandPath(), exampleRun)
	}
	_, err := hostAddress(args[0])
	return err
}

// ask sends a request about a run. A refusal is an error. The caller closes the body.
func ask(ctx context.Context, address string, method protocol.Method, id string, more textproto.MIMEHeader) (*protocol.Response, error) {
	a, err := hostAddress(address)
	if err != nil {
		return nil, err
	}
	header := textproto.MIMEHeader{}
	header.Set(protocol.AgentID, id)
	for name, values := range more {
		header[name] = values
	}
	res, err := client().Do(ctx, a, &protocol.Request{Method: method, Header: header})
	if err != nil {
		return nil, err
	}
	if err := res.Err(); err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	return res, nil
}

func client() *protocol.Client {
	return &protocol.Client{UserAgent: "curtsy/" + version.Number}
}

// stateCommand makes the commands message and retract, which print the state of a run.
func (c *commands) stateCommand(method protocol.Method) *cobra.Command {
	name, short := "message", "Show the state of a run"
	if method == protocol.Retract {
		name, short = "retract", "End a run, and show its last state"
	}
	return &cobra.Command{
		Use:     name + " ADDRESS AGENT-ID",
		Short:   short,
		Long:    short + ", as one JSON object. The Agent-Id is what dispatch printed.",
		Example: "  curtsy atp " + name + " " + exampleRun,
		Args:    addressAndID,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			res, err := ask(cmd.Context(), args[0], method, args[1], nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, res.Body.Close()) }()
			var state mobile.Summary
			if err := json.NewDecoder(io.LimitReader(res.Body, mobile.MaxPart)).Decode(&state); err != nil {
				return fmt.Errorf("the state of the run: %w", err)
			}
			return c.PrintJSON(state)
		},
	}
}
