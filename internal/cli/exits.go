package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// ExitCode is an exit code and what it means.
type ExitCode struct {
	Code  int
	Means string
}

// Codes are the exit codes of all our commands. A command may describe one more exactly.
var Codes = []ExitCode{
	{0, "The command has done all of its work."},
	{1, "The command has failed, or what it checks is not in order."},
	{2, "The command line, the configuration file or the environment is wrong. Nothing was done."},
	{3, "A limit ended the work."},
	{4, "The answer is incomplete, because some shards did not answer."},
	{130, "The command was interrupted: ^C, SIGTERM, or curtsy stop."},
}

// exitsKey is the annotation of a command with its exit codes.
const exitsKey = "curtsy-exits"

// ExitCodes returns the annotation of a command with its exit codes and their meanings, such as "1
// some files could not be fetched".
func ExitCodes(lines ...string) map[string]string {
	return map[string]string{exitsKey: strings.Join(lines, "\n")}
}

// Exits returns the exit codes that a command describes itself.
func Exits(cmd *cobra.Command) (all []ExitCode) {
	for line := range strings.Lines(cmd.Annotations[exitsKey]) {
		code, means, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(code)
		if err != nil {
			panic("cli: " + cmd.CommandPath() + " has no exit code in " + strconv.Quote(line))
		}
		all = append(all, ExitCode{n, means})
	}
	return all
}
