package config

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// The flag of every setting has a heading in help.
func TestGroups(t *testing.T) {
	n := 0
	for _, c := range append(commands(), NewForesee()) {
		for _, f := range fieldsOf(c) {
			if f.flag == "" {
				continue
			}
			if n++; f.group == OwnFlags || !slices.Contains(Groups, f.group) {
				t.Errorf("%T: %s has the group %q, which is none of %q", c, f.key, f.group, Groups)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d flags", n)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Bool("own", false, "")
	flags.Bool("help", false, "")
	Bind(flags, NewCrawl())
	for name, want := range map[string]struct {
		group, env, example string
		common              bool
	}{
		"own":        {OwnFlags, "", "false", true},
		"help":       {HelpFlags, "", "false", true},
		"max-pages":  {"Limits", "CURTSY_MAX_PAGES", "500", true},
		"nats-creds": {"Cluster", "CURTSY_NATS_CREDS", "/run/secrets/curtsy.creds", false},
	} {
		f := flags.Lookup(name)
		if GroupOf(f) != want.group || EnvOf(f) != want.env || ExampleOf(f) != want.example || IsCommon(f) != want.common {
			t.Errorf("%s: %s, %s, %s, %v", name, GroupOf(f), EnvOf(f), ExampleOf(f), IsCommon(f))
		}
	}
}

// A key may be written with "_" where we write "-", in a file and in the environment.
func TestUnderscores(t *testing.T) {
	t.Setenv("CURTSY_MAX-DEPTH", "4")
	c := NewCrawl()
	src, err := load(t, c, "--config", write(t, "max_pages: 7\nupdates_websub-url: https://crawler.example/hooks\n"))
	if err != nil || c.MaxPages != 7 || c.MaxDepth != 4 || c.Plan.UpdatesWebSub == "" {
		t.Errorf("%+v, %v", c.Plan, err)
	}
	if from := src.Origin("max-depth"); from != "from CURTSY_MAX-DEPTH" {
		t.Error(from)
	}
	t.Setenv("CURTSY_MAX_DEPTH", "5")
	if _, err := load(t, c); err != nil || c.MaxDepth != 5 {
		t.Errorf("with both variables: %d, %v", c.MaxDepth, err)
	}
	if _, err := load(t, NewCrawl(), "--config", write(t, "max_pages: 7\nmax-pages: 8\n")); err == nil {
		t.Error("a key in two spellings is accepted twice")
	}
}
