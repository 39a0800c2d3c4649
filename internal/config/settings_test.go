package config

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/curtsy/curtsy/internal/settings"
)

// Each setting of a crawl is a flag of the commands that create one, and each that may change while
// it runs is a flag of curtsy set.
func TestEachSettingIsAFlag(t *testing.T) {
	for _, c := range []struct {
		command any
		all     bool
	}{{NewCrawl(), true}, {NewSeed(), true}, {NewForesee(), true}, {NewSet(), false}} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		Bind(flags, c.command)
		for _, row := range settings.All() {
			f := flags.Lookup(row.Name)
			if (f != nil) != (c.all || row.Set) {
				t.Errorf("%T: --%s is a flag: %v", c.command, row.Name, f != nil)
			}
			if f != nil && (GroupOf(f) != row.Group || f.Usage == "") {
				t.Errorf("%T: --%s has the group %q and the usage %q", c.command, row.Name, GroupOf(f), f.Usage)
			}
		}
	}
}

// A setting that a spec stores the other way round is written as people mean it.
func TestLinksFromEverywhere(t *testing.T) {
	for name, args := range map[string][]string{"flag": {"--links=false"}, "file": {"--config", write(t, "links: false\n")}, "environment": nil, "default": nil} {
		t.Run(name, func(t *testing.T) {
			if name == "environment" {
				t.Setenv("CURTSY_LINKS", "false")
			}
			c := NewCrawl()
			if _, err := load(t, c, args...); err != nil || c.NoLinks != (name != "default") {
				t.Errorf("links are followed: %v, %v", !c.NoLinks, err)
			}
		})
	}
	if _, err := load(t, NewCrawl(), "--config", write(t, "links: maybe\n")); err == nil {
		t.Error("links: maybe is accepted")
	}
}
