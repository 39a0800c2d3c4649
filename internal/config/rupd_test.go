package config

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/rup"
)

// rupdNeeds are the settings that have no usable default.
var rupdNeeds = []string{"--base", "https://www.example.org/", "--mail-from", "rup@www.example.org"}

func TestRupd(t *testing.T) {
	c := NewRupd()
	if _, err := load(t, c, append(rupdNeeds, "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1", "--max-query-span", "2-week", "--latency", "week")...); err != nil {
		t.Fatal(err)
	}
	o := c.Site(io.Discard)
	if o.Info.MaxQuerySpan != (rup.Span{N: 2, Unit: rup.Week}) || len(o.Info.Latency) != 1 || o.Info.Latency[0] != rup.Week {
		t.Errorf("offered: %+v", o.Info)
	}
	if len(o.Proxies) != 2 || o.Proxies[0].String() != "10.0.0.0/8" || o.Proxies[1].String() != "::1/128" {
		t.Errorf("proxies: %v", o.Proxies)
	}
	if _, err := load(t, NewRupd(), append(rupdNeeds, "--max-query-span", "none")...); err != nil {
		t.Error(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("pässword\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, c, append(rupdNeeds, "--smtp-password-file", secret)...); err != nil || c.Site(io.Discard).Mail.Password != "pässword" {
		t.Errorf("password %v, %v", c.Password, err)
	}
}

func TestRupdErrors(t *testing.T) {
	for _, args := range []string{
		"", "--base=", "--mail-from=", "--settle=0s", "--scan-every=1ms", "--latency=", "--trusted-proxy=x", "--max-query-span=day", "--max-registrations=0",
		"--max-per-domain=0", "--registers-per-hour=0", "--queries-per-hour=-1", "--smtp-password-file=/nowhere", "--listen=x", "--smtp-tls=ssl", "--latency=hour",
	} {
		given := append([]string{}, rupdNeeds...)
		if args == "" {
			given = nil
		} else {
			given = append(given, args)
		}
		_, err := load(t, NewRupd(), given...)
		if err == nil {
			t.Errorf("%q taken", args)
		} else if key, _, _ := strings.Cut(strings.TrimPrefix(args, "--"), "="); !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "use") && !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The example has every key with its default, except those that have none.
func TestRupdExample(t *testing.T) {
	const name = "../../deploy/rupd.example.yaml"
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, want := NewRupd(), NewRupd()
	if _, err := load(t, got, "--config", name); err != nil {
		t.Fatal(err)
	}
	for i, f := range fieldsOf(got) {
		if f.key != "config" && !regexp.MustCompile(`(?m)^`+f.key+`:`).Match(body) {
			t.Errorf("%s lacks %s", name, f.key)
		}
		if w := fieldsOf(want)[i]; f.key != "config" && f.key != "base" && f.key != "mail-from" && f.text() != w.text() {
			t.Errorf("the example has %s: %s, the default is %s", f.key, f.text(), w.text())
		}
	}
}
