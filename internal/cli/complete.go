package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completions is the annotation of a flag with the words for shell completion.
const completions = "curtsy_completions"

// Completes makes shells complete a flag of cmd to these words, also after the commas of a list.
// The flag must exist. The words have an effect only after RegisterCompletions.
func Completes(cmd *cobra.Command, flag string, words ...string) {
	f := cmd.Flag(flag)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[completions] = words
}

// RegisterCompletions passes the completions of root and of all commands below it to cobra, if args
// ask for completions. cobra keeps them, and so the commands, until the process ends.
func RegisterCompletions(root *cobra.Command, args []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return
	}
	var register func(cmd *cobra.Command)
	register = func(cmd *cobra.Command) {
		for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if words := f.Annotations[completions]; len(words) > 0 {
					// It fails only for a flag that has a function already.
					_ = cmd.RegisterFlagCompletionFunc(f.Name, complete(words))
				}
			})
		}
		for _, c := range cmd.Commands() {
			register(c)
		}
	}
	register(root)
}

func complete(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		list := make([]cobra.Completion, len(words))
		for i, w := range words {
			list[i] = before + w
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}
