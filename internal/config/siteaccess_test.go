package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/credentials"
)

// credentialsFile writes credentials with this mode.
func credentialsFile(t *testing.T, mode os.FileMode, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "credentials.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// fetches are the settings of the commands that fetch.
type fetches interface {
	Shown() (*credentials.Set, error)
	Through(*credentials.Set) (*credentials.Proxy, error)
}

// Commands that fetch accept credentials and a proxy. Errors say what to type and show no secret.
func TestDoors(t *testing.T) {
	const text = "sites:\n  https://a.test: {basic: {user: me, password: hunter2}}\n"
	const both = text + "proxy: {user: me, password: hunter2}\n"
	good := credentialsFile(t, 0o640, text)
	for name, tt := range map[string]struct {
		args []string
		env  string // of CURTSY_CREDENTIALS_TEXT
		want string // in the error; none: there is none
	}{
		"nothing":             {nil, "", ""},
		"a file":              {[]string{"--credentials", good}, "", ""},
		"the environment":     {nil, text, ""},
		"both":                {[]string{"--credentials", good}, text, "CURTSY_CREDENTIALS_TEXT cannot be used together; use one of them"},
		"read by all":         {[]string{"--credentials", credentialsFile(t, 0o644, text)}, "", "type: chmod 600 /"},
		"no file":             {[]string{"--credentials", "/nowhere.yaml"}, "", "/nowhere.yaml: the file does not exist"},
		"no YAML":             {[]string{"--credentials", credentialsFile(t, 0o600, "sites: [hunter2")}, "", "it is not valid YAML"},
		"a broken variable":   {nil, "hunter2", "credentials-text: line 1"},
		"in the settings":     {[]string{"--config", credentialsFile(t, 0o600, "credentials-text: \"hunter2\"\n")}, "", "write it into a separate file for --credentials"},
		"a proxy":             {[]string{"--proxy", "http://127.0.0.1:3128", "--proxy-resolves"}, "", ""},
		"a proxy and a login": {[]string{"--proxy", "socks5://127.0.0.1:1080", "--credentials", credentialsFile(t, 0o600, both)}, "", ""},
		"a login alone":       {[]string{"--credentials", credentialsFile(t, 0o600, both)}, "", "there are credentials for one; use for example http://127.0.0.1:3128"},
		"resolves alone":      {[]string{"--proxy-resolves"}, "", "needs proxy too"},
		"a password in it":    {[]string{"--proxy", "http://me:hunter2@127.0.0.1:3128"}, "", "write them under proxy: in a file for --credentials"},
		"no proxy":            {[]string{"--proxy", "127.0.0.1:3128"}, "", "use for example http://127.0.0.1:3128"},
	} {
		for _, into := range []fetches{NewCrawl(), NewFetcher(), NewDownload()} {
			t.Setenv("CURTSY_CREDENTIALS_TEXT", tt.env)
			args := tt.args
			if _, daemon := into.(*Fetcher); daemon {
				args = append([]string{"--nats", "nats://127.0.0.1:1"}, args...)
			}
			_, err := load(t, into, args...)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			set, err2 := into.Shown()
			p, err3 := into.Through(set)
			if err != nil || err2 != nil || err3 != nil {
				t.Errorf("%s: %v, %v, %v", name, err, err2, err3)
				continue
			}
			shows := strings.Contains(strings.Join(args, " "), "--credentials") || tt.env != ""
			through := strings.Contains(strings.Join(args, " "), "--proxy ")
			if (set != nil) != shows || (p != nil) != through || through && p.Login.User() != "" != strings.Contains(name, "login") {
				t.Errorf("%s: %v, %v", name, set, p)
			}
			if os.Getenv("CURTSY_CREDENTIALS_TEXT") != "" {
				t.Errorf("%s: processes started later would have the secrets in their environment", name)
			}
		}
	}
}

// No flag takes a secret. Neither the settings nor what is made from them show one, and it is not
// in a spec.
func TestDoorsStayHere(t *testing.T) {
	if _, err := load(t, NewCrawl(), "--credentials-text", "x"); err == nil {
		t.Error("secrets can be given on a command line")
	}
	const dashed = "CURTSY_CREDENTIALS-TEXT" // as in a container's settings
	t.Setenv(dashed, "sites:\n  https://a.test: {bearer: hunter2}\n")
	if _, err := load(t, NewCrawl()); err != nil || os.Getenv(dashed) != "" {
		t.Errorf("with a dash: %v, and in the environment is %q", err, os.Getenv(dashed))
	}
	t.Setenv("CURTSY_CREDENTIALS_TEXT", "sites:\n  https://a.test: {bearer: hunter2}\n")
	c := NewCrawl()
	src, err := load(t, c)
	if err != nil {
		t.Fatal(err)
	}
	set, err := c.Shown()
	if err != nil || len(set.All()) != 1 {
		t.Fatal(set, err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("loaded", "cfg", c, "set", set, "spec", c.Plan.Spec(nil, src.Given))
	if strings.Contains(out.String(), "hunter2") {
		t.Error(out.String())
	}
}
