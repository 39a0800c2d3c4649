package webtext_test

import (
	"os/exec"
	"testing"

	"github.com/curtsy/curtsy/internal/webtext"
)

// TestShellWord asks a shell what it makes of each word.
func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"":                                   "",
		"./curtsy-data":                      "./curtsy-data",
		"https://h1.sim.test/a":              "https://h1.sim.test/a",
		"https://h1.sim.test/a?b=1&c=2#d":    "https://h1.sim.test/a?b=1&c=2#d",
		"a b":                                "a b",
		"it's":                               "it's",
		"''":                                 "''",
		`"$HOME" \x`:                         `"$HOME" \x`,
		"$(touch x)":                         "$(touch x)",
		"`touch x`":                          "`touch x`",
		"~":                                  "~",
		"{a,b}":                              "{a,b}",
		"[a-z]*":                             "[a-z]*",
		"#a":                                 "#a",
		"A=b":                                "A=b",
		"a\nb":                               "a b",
		"a\x1b[31mb\x00":                     "a[31mb",
		"safe\u202e; rm -rf .":               "safe; rm -rf .",
		"bücher":                             "bücher",
		"a;b|c>d<e(f)!g":                     "a;b|c>d<e(f)!g",
		"https://example.org/it's/$(a)/`b`/": "https://example.org/it's/$(a)/`b`/",
	} {
		for _, shell := range []string{"sh", "bash"} {
			got, err := exec.Command(shell, "-c", "printf %s "+webtext.ShellWord(word)).Output()
			if err != nil || string(got) != want {
				t.Errorf("%s of %q: %q, %v; want %q", shell, word, got, err, want)
			}
		}
	}
	for _, plain := range []string{"./curtsy-data", "https://h1.sim.test/a", "nats://127.0.0.1:4222"} {
		if got := webtext.ShellWord(plain); got != plain {
			t.Errorf("%s is written as %s", plain, got)
		}
	}
}
