package config

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/botauth"
)

// keyFile writes a key with this mode.
func keyFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	key, err := botauth.NewKey(bytes.NewReader(bytes.Repeat([]byte{5}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "sign.pem")
	if err := os.WriteFile(name, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// Requests are signed only if both settings are given. An error says what to type.
func TestSigning_8_28_Settings(t *testing.T) {
	c := NewCrawl()
	if _, err := load(t, c); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Signer(); s != nil || err != nil {
		t.Errorf("without settings: %v, %v", s, err)
	}
	good := keyFile(t, 0o600)
	for name, tt := range map[string]struct {
		args []string
		want []string // in the error; none: there is none
	}{
		"both":              {[]string{"--sign-key", good, "--sign-agent", "https://bot.example.org"}, nil},
		"read by its group": {[]string{"--sign-key", keyFile(t, 0o640), "--sign-agent", "https://bot.example.org"}, nil},
		"jwks":              {[]string{"--sign-key", good, "--sign-agent", "https://bot.example.org/k.json", "--sign-form", "jwks"}, nil},
		"key alone":         {[]string{"--sign-key", good}, []string{"sign-agent", "https://bot.example.org"}},
		"agent alone":       {[]string{"--sign-agent", "https://bot.example.org"}, []string{"sign-key", "curtsy identity --new-key"}},
		"no file":           {[]string{"--sign-key", "/nowhere.pem", "--sign-agent", "https://bot.example.org"}, []string{"does not exist", "curtsy identity --new-key /nowhere.pem"}},
		"a directory":       {[]string{"--sign-key", t.TempDir(), "--sign-agent", "https://bot.example.org"}, []string{"not a regular file"}},
		"read by all":       {[]string{"--sign-key", keyFile(t, 0o644), "--sign-agent", "https://bot.example.org"}, []string{"0644", "chmod 600"}},
		"written by group":  {[]string{"--sign-key", keyFile(t, 0o660), "--sign-agent", "https://bot.example.org"}, []string{"0660", "chmod 600"}},
		"http":              {[]string{"--sign-key", good, "--sign-agent", "http://bot.example.org"}, []string{"https"}},
		"a path":            {[]string{"--sign-key", good, "--sign-agent", "https://bot.example.org/x"}, []string{"use https://bot.example.org, or form jwks"}},
		"jwks of an origin": {[]string{"--sign-key", good, "--sign-agent", "https://bot.example.org", "--sign-form=jwks"}, []string{botauth.DirectoryPath}},
		"a form of no kind": {[]string{"--sign-key", good, "--sign-agent", "https://bot.example.org", "--sign-form=strings"}, []string{"did you mean string"}},
	} {
		for _, into := range []interface {
			Signer() (*botauth.Signer, error)
		}{NewCrawl(), NewFetcher(), NewDownload(), NewRUP()} {
			args := tt.args
			if _, daemon := into.(*Fetcher); daemon {
				args = append([]string{"--nats", "nats://127.0.0.1:1"}, args...)
			}
			_, err := load(t, into, args...)
			if (err == nil) != (tt.want == nil) {
				t.Errorf("%s: %v", name, err)
			}
			for _, w := range tt.want {
				if err != nil && !strings.Contains(err.Error(), w) {
					t.Errorf("%s: error %q does not mention %q", name, err, w)
				}
			}
			if err == nil {
				if s, err := into.Signer(); err != nil || s.KeyID() == "" {
					t.Errorf("%s: %v, %v", name, s, err)
				}
			}
		}
	}
}

// The example keys of RFC 9421 are refused at the start.
func TestSigning_8_30_TestKeysAreRefusedAtTheStart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rfc.json")
	jwk := `{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"}`
	if err := os.WriteFile(name, []byte(jwk), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := load(t, NewCrawl(), "--sign-key", name, "--sign-agent", "https://bot.example.org")
	if err == nil || !strings.Contains(err.Error(), "test key of RFC 9421") || strings.Contains(err.Error(), "n4Ni") {
		t.Errorf("%v", err)
	}
}

// Neither the settings nor the signer show the key, and it is not in a spec.
func TestSigning_8_28_KeysStayHere(t *testing.T) {
	c := NewCrawl()
	src, err := load(t, c, "--sign-key", keyFile(t, 0o600), "--sign-agent", "https://bot.example.org")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Signer()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("loaded", "cfg", c, "signer", s)
	spec := c.Plan.Spec(nil, src.Given)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("spec", "spec", spec)
	seed := bytes.Repeat([]byte{5}, ed25519.SeedSize)
	for _, secret := range []string{base64.StdEncoding.EncodeToString(seed), base64.RawURLEncoding.EncodeToString(seed), "BQUFBQ"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q stands in %s", secret, out.String())
		}
	}
	if at := strings.Index(out.String(), `"spec"`); at < 0 || strings.Contains(out.String()[at:], "bot.example.org") || strings.Contains(out.String()[at:], "sign.pem") {
		t.Errorf("the spec names who signs: %s", out.String())
	}
}

// A key for mobile robots is checked at the start. The error says how to make one.
func TestRobotKey(t *testing.T) {
	good := keyFile(t, 0o600)
	for name, tt := range map[string]struct {
		args []string
		want string // in the error; empty: there is none
	}{
		"none":        {nil, ""},
		"a key":       {[]string{"--mobile-robots", good}, ""},
		"no file":     {[]string{"--mobile-robots", "/nowhere.pem"}, "curtsy agenthost key /nowhere.pem"},
		"read by all": {[]string{"--mobile-robots", keyFile(t, 0o644)}, "chmod 600"},
	} {
		for _, into := range []interface {
			RobotKey() (*botauth.Key, error)
		}{NewCrawl(), NewFetcher()} {
			args := tt.args
			if _, daemon := into.(*Fetcher); daemon {
				args = append([]string{"--nats", "nats://127.0.0.1:1"}, args...)
			}
			_, err := load(t, into, args...)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			if key, err := into.RobotKey(); tt.want == "" && (err != nil || (key == nil) != (tt.args == nil)) {
				t.Errorf("%s: %v, %v", name, key, err)
			}
		}
	}
}
