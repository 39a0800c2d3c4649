package config

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// agenthostNeeds are the settings that have no usable default.
var agenthostNeeds = []string{"--base", "https://www.example.org/", "--address", "atp://www.example.org:10434"}

const robotEntry = "name=example,key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,subtree=/docs/,runs=3"

func TestAgenthost(t *testing.T) {
	c := NewAgenthost()
	if _, err := load(t, c, append(agenthostNeeds, "--allow-robot", robotEntry, "--allow-robot", strings.ReplaceAll(robotEntry, ",", " "), "--run-read", "1GiB")...); err != nil {
		t.Fatal(err)
	}
	o := c.Host(io.Discard)
	if len(o.Allowed) != 2 || o.Allowed[1].Name != "example" || o.Allowed[1].Quota.Runs != 3 || o.Read != 1<<30 {
		t.Errorf("%+v", o)
	}
	if config, err := c.TLS(); err != nil || config != nil {
		t.Errorf("without a certificate: %v, %v", config, err)
	}
	c.TLSCert, c.TLSKey = "/nowhere", "/nowhere"
	if _, err := c.TLS(); err == nil || !strings.Contains(err.Error(), "tls-cert") {
		t.Errorf("a certificate that does not exist: %v", err)
	}
	// With a server, there is a document root only if it is given.
	for root, args := range map[string][]string{"": {"--header", "/a X-Robots-Tag: noindex"}, "/srv": {"--root", "/srv"}} {
		c := NewAgenthost()
		if _, err := load(t, c, append(append(args, "--server", "http://127.0.0.1:8080"), agenthostNeeds...)...); err != nil {
			t.Fatal(err)
		}
		if o := c.Host(io.Discard); o.Root != root || o.Server != "http://127.0.0.1:8080" || len(o.Headers) != len(c.Headers) {
			t.Errorf("%q: %+v", args, o)
		}
	}
	t.Setenv("CURTSY_ALLOW_ROBOT", robotEntry)
	fromEnv := NewAgenthost()
	if _, err := load(t, fromEnv, agenthostNeeds...); err != nil || len(fromEnv.Allow) != 1 {
		t.Errorf("from the environment: %q, %v", fromEnv.Allow, err)
	}
}

func TestAgenthostErrors(t *testing.T) {
	for _, args := range []string{
		"", "--base=", "--address=", "--serve=10434", "--runs-at-once=0", "--robot-memory=1KiB", "--run-cpu=1ms", "--run-time=0s", "--run-read=0", "--run-sent=0", "--document-size=0",
		"--keep-results=1s", "--results-size=0", "--tls-cert=a.pem", "--allow-robot=name=a", "--header=X-Robots-Tag: noindex", "--listen=x",
	} {
		given := append([]string{}, agenthostNeeds...)
		if args == "" {
			given = nil
		} else {
			given = append(given, args)
		}
		_, err := load(t, NewAgenthost(), given...)
		if err == nil {
			t.Errorf("%q is accepted", args)
		} else if key, _, _ := strings.Cut(strings.TrimPrefix(args, "--"), "="); !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "use") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The example has every key with its default, except those that have none.
func TestAgenthostExample(t *testing.T) {
	const name = "../../deploy/agenthost.example.yaml"
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, want := NewAgenthost(), NewAgenthost()
	if _, err := load(t, got, "--config", name); err != nil {
		t.Fatal(err)
	}
	for i, f := range fieldsOf(got) {
		if f.key != "config" && !regexp.MustCompile(`(?m)^`+f.key+`:`).Match(body) {
			t.Errorf("%s lacks %s", name, f.key)
		}
		if w := fieldsOf(want)[i]; f.key != "config" && f.key != "base" && f.key != "address" && f.text() != w.text() {
			t.Errorf("the example has %s: %s, the default is %s", f.key, f.text(), w.text())
		}
	}
}

// An entry @FILE stands for those in a file, up to a size.
func TestAgenthostEntriesInAFile(t *testing.T) {
	name := t.TempDir() + "/entries"
	arg := append(agenthostNeeds, "--allow-robot", "@"+name)
	for text, want := range map[string]int{
		robotEntry + "\n": 1,
		"# two\n\n  - " + robotEntry + "\n" + robotEntry: 2,
		"":                                      0,
		"name=a\n":                              -1,
		"#" + strings.Repeat("x", maxEntries-1): 0,
		"#" + strings.Repeat("x", maxEntries):   -1,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c := NewAgenthost()
		switch _, err := load(t, c, arg...); {
		case (err == nil) != (want >= 0):
			t.Errorf("%.60q: %v", text, err)
		case err == nil && len(c.Host(io.Discard).Allowed) != want:
			t.Errorf("%.60q: %d entries, want %d", text, len(c.Host(io.Discard).Allowed), want)
		}
	}
	if _, err := load(t, NewAgenthost(), append(agenthostNeeds, "--allow-robot", "@/nowhere")...); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("no file: %v", err)
	}
}
