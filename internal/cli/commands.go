package cli

import (
	"strings"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/cobra"
)

// groupKey is the annotation of a command that only has subcommands and does nothing itself.
const groupKey = "curtsy-group-of-commands"

// onlyGroups reports whether a command only has subcommands.
func onlyGroups(cmd *cobra.Command) bool { return cmd.Annotations[groupKey] != "" }

// needsCommand makes a command that only has subcommands refuse to be called without one. The root
// shows its help instead.
func needsCommand(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[groupKey] = "yes"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(cmd, args[0])
		case cmd.HasParent():
			return config.Errorf("%s needs a command: use %s; %s --help explains them",
				cmd.CommandPath(), orList(paths(cmd)), cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		printHelp(cmd.OutOrStdout(), cmd)
		return nil
	}
}

// paths returns the commands below cmd that are not hidden, as a person types them.
func paths(cmd *cobra.Command) (list []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.CommandPath())
		}
	}
	return list
}

// unknownCommand returns the error for a command that cmd does not have.
func unknownCommand(cmd *cobra.Command, typed string) error {
	path := cmd.CommandPath()
	if !cmd.HasParent() {
		if u := strings.ToLower(typed); strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "www.") {
			return config.Errorf("%q is a URL, not a command; to crawl it: %s crawl --contact me@example.org %s", typed, path, withScheme(typed))
		}
		if rows := foreignOf(foreignCommands, strings.ToLower(typed)); len(rows) > 0 {
			return config.Errorf("unknown command %q; use %s %s", typed, path, rows[0].ours)
		}
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if len(names) == 0 {
		return config.Errorf("%s has no command %q; %s --help explains it", path, typed, path)
	}
	if n := config.Nearest(typed, names); n != "" {
		return config.Errorf("unknown command %q; did you mean %s %s?", typed, path, n)
	}
	if cmd.HasParent() {
		return config.Errorf("unknown command %q; use %s", typed, orList(paths(cmd)))
	}
	return config.Errorf("unknown command %q; %s --help lists the commands", typed, path)
}

// withScheme adds the missing http:// or https:// to a URL.
func withScheme(typed string) string {
	if strings.Contains(typed, "://") {
		return typed
	}
	return "https://" + typed
}

// helpCommand returns `curtsy help COMMAND`.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show help for a command",
		Example: "  " + root.Name() + " help " + root.Commands()[0].Name(),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []cobra.Completion
			for _, sub := range cmd.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(help *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return config.Errorf("%v", err)
			}
			if len(rest) > 0 {
				return unknownCommand(cmd, rest[0])
			}
			FlagsOf(cmd)
			printHelp(help.OutOrStdout(), cmd)
			return nil
		},
	}
}

// completionExamples adds an example to each of cobra's commands for shells.
func completionExamples(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Print a script that completes commands and flags in a shell"
		cmd.Example = "  " + cmd.CommandPath() + " bash > curtsy-completion.bash"
		for _, shell := range cmd.Commands() {
			shell.Example = "  " + shell.CommandPath() + " > curtsy-completion." + shell.Name()
		}
	}
}
