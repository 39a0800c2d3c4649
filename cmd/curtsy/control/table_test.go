package control

import (
	"io"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// Each row of the table is a command of its own that explains itself, below the command that it
// names, and every command of this group has its place in the order.
func TestTable(t *testing.T) {
	a := app.New(nil, io.Discard, io.Discard)
	root := &cobra.Command{Use: "curtsy"}
	root.AddCommand(Commands(a)...)
	updates := &cobra.Command{Use: "updates"}
	updates.AddCommand(ActionsUnder(a, "updates")...)
	root.AddCommand(updates)
	seen := map[string]bool{}
	for _, act := range actions {
		words := []string{(&cobra.Command{Use: act.use}).Name()}
		if act.under != "" {
			words = slices.Insert(words, 0, act.under)
		}
		cmd, _, err := root.Find(words)
		if err != nil || cmd.Use != act.use {
			t.Errorf("%q leads to %q, %v", words, cmd.Use, err)
			continue
		}
		if path := cmd.CommandPath(); seen[path] {
			t.Errorf("%s is in the table twice", path)
		} else {
			seen[path] = true
		}
		if act.do == nil || act.args == nil || cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s lacks something: %+v", cmd.CommandPath(), act)
		}
		if has := cmd.Flags().Lookup("undo") != nil; has != (act.undo != "") {
			t.Errorf("%s has --undo: %v", cmd.CommandPath(), has)
		}
	}
	var names []string
	for _, cmd := range Commands(a) {
		names = append(names, cmd.Name())
	}
	if !slices.Equal(names, order) {
		t.Errorf("the commands are %q, and their order %q", names, order)
	}
}
