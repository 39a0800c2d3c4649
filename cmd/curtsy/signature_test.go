package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// A key is made, published and used, and its signatures are verified, by commands as people type
// them.
func TestSigning_CheckSignature(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if got := curtsy(t, 0, "identity", "--new-key", in("sign.pem")); !strings.Contains(got, "only you can read it") {
		t.Errorf("%s", got)
	}
	curtsy(t, 2, "identity", "--new-key", in("sign.pem"))
	curtsy(t, 2, "identity", "--new-key", in("nowhere/sign.pem"))
	args := []string{"identity", "--sign-key", in("sign.pem"), "--sign-agent", "https://bot.example.org", "--contact", "me@example.org", "--dir", in("out")}
	if got := curtsy(t, 0, args...); !strings.Contains(got, "--range 192.0.2.0/28") {
		t.Errorf("%s", got)
	}
	curtsy(t, 0, append(args, "--range", "192.0.2.1")...)
	curtsy(t, 0, "identity", "--new-key", in("new.pem"))
	if got := curtsy(t, 0, append(args, "--also", in("new.pem"), "--purpose", "search,tdm")...); !strings.Contains(got, "crawler-ips.json is from an earlier run") {
		t.Errorf("addresses of before are still published, and it says: %s", got)
	}
	for _, bad := range [][]string{{"--also", in("sign.pem")}, {"--also", in("none.pem")}, {"--range", "10.0.0.1"}, {"--purpose", "spam"}, {"--contact", ""}, {"--valid", "1m"}, {"--sign-form", "jwks"}} {
		curtsy(t, 2, append(args, bad...)...)
	}
	keys := filepath.Join(in("out"), ".well-known", "http-message-signatures-directory")
	pem, err := os.ReadFile(in("sign.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"key file": strings.Split(string(pem), "\n")[1]} {
		for _, f := range []string{keys, in("out/index.html"), in("out/headers.txt"), in("out/signature-agent-card.json")} {
			if body, err := os.ReadFile(f); err != nil || strings.Contains(string(body), secret) {
				t.Errorf("%s shows the %s, %v", f, name, err)
			}
		}
	}

	key, err := config.ReadKey(in("sign.pem"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := botauth.NewSigner(key, "https://bot.example.org", botauth.FormString)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1790000000, 0)
	f, err := signer.Sign(&botauth.Message{Method: "GET", Scheme: "https", Authority: "shop.example", Path: "/a/b"}, at, []byte("nonce"))
	if err != nil {
		t.Fatal(err)
	}
	request := "GET /a/b?c=d HTTP/1.1\r\nHost: Shop.example\r\nSignature-Agent: " + f.Agent + "\r\nSignature-Input: " + f.Input + "\r\nSignature: " + f.Signature + "\r\n\r\n"
	write := func(name, text string) string {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return in(name)
	}
	good := write("good.txt", request)
	const now = "2026-09-21T14:13:30Z" // ten seconds later
	fields := []string{"--header", "Signature-Agent: " + f.Agent, "--header", "Signature-Input: " + f.Input, "--header", "Signature: " + f.Signature}
	for name, c := range map[string]struct {
		code int
		args []string
		why  string
	}{
		"good":            {0, []string{"--keys", keys, "--now", now, good}, ""},
		"without the end": {0, []string{"--keys", keys, "--now", now, write("bare.txt", strings.ReplaceAll(strings.TrimSpace(request), "\r", ""))}, ""},
		"absolute target": {0, []string{"--keys", keys, "--now", now, write("proxy.txt", strings.Replace(request, "/a/b", "https://shop.example/a/b", 1))}, ""},
		"by flags":        {0, append([]string{"--keys", keys, "--now", now, "--url", "https://shop.example:443/a/b?x"}, fields...), ""},
		"another URL":     {1, []string{"--keys", keys, "--now", now, "--url", "https://shop.example/a/c", good}, "signature"},
		"another method":  {1, []string{"--keys", keys, "--now", now, "--method", "POST", good}, "signature"},
		"plain http":      {1, []string{"--keys", keys, "--now", now, "--url", "http://shop.example/a/b", good}, "plain"},
		"too late":        {1, []string{"--keys", keys, good}, "expired"},
		"a clock behind":  {1, []string{"--keys", keys, "--now", "2026-09-21T14:13:15Z", good}, "future"},
		"forgiven":        {0, []string{"--keys", keys, "--now", "2026-09-21T14:13:15Z", "--skew", "5s", good}, ""},
		"no keys":         {1, []string{"--now", now, good}, "key"},
		"not its key":     {1, []string{"--keys", write("none.json", `{"keys":[]}`), "--now", now, good}, "key"},
		"altered":         {1, []string{"--keys", keys, "--now", now, write("altered.txt", strings.Replace(request, "/a/b", "/a/x", 1))}, "signature"},
	} {
		var ans struct {
			Verified   bool
			Signatures []struct{ Agent, Why string }
		}
		if err := json.Unmarshal([]byte(curtsy(t, c.code, append([]string{"check", "signature", "--json"}, c.args...)...)), &ans); err != nil {
			t.Fatal(err)
		}
		if len(ans.Signatures) != 1 || ans.Verified != (c.code == 0) || ans.Signatures[0].Why != c.why || ans.Signatures[0].Agent != "https://bot.example.org" && c.why != "plain" {
			t.Errorf("%s: %+v", name, ans)
		}
	}
	if got := curtsy(t, 0, "check", "signature", "--keys", keys, "--now", now, good); !strings.Contains(got, "verified: https://bot.example.org, key "+key.ID()) || !strings.Contains(got, `"@path": /a/b`) {
		t.Errorf("%s", got)
	}
	if got := curtsy(t, 1, "check", "signature", "--now", now, good); !strings.Contains(got, "curl -s https://bot.example.org/.well-known/http-message-signatures-directory > keys.json") {
		t.Errorf("%s", got)
	}
	if got := curtsy(t, 1, "check", "signature", "--json", "--url", "https://shop.example/", "--header", "Accept: */*"); !strings.Contains(got, `"verified":false,"error":"the request carries no`) {
		t.Errorf("%s", got)
	}
	for _, bad := range [][]string{{}, {"--url", "https://a.test/"}, {"--now", "today", good}, {"--skew", "-1s", good}, {"--keys", good, good}, {"--keys", in("none"), good}, {"--url", "ftp://a", good}, {"--header", "x", good}, {write("empty.txt", "")}} {
		curtsy(t, 2, append([]string{"check", "signature"}, bad...)...)
	}
}

// Neither the files of a crawl nor its NATS server contain the key or the name of its file.
func TestSigning_8_28_NothingIsKept(t *testing.T) {
	virtual(t, func(t *testing.T) {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		curtsy(t, 0, "identity", "--new-key", in("secret-key.pem"))
		w := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 3, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }})
		curtsy(t, 0, "crawl", "--dir", in("data"), "--listen", "off", "--progress", "none", "--allow-private", "--delay", "0s", "--max-depth", "1", "--resolve", w.Resolve(),
			"--sign-key", in("secret-key.pem"), "--sign-agent", "https://bot.example.org", w.Seeds()[0])
		pem, err := os.ReadFile(in("secret-key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		der, err := base64.StdEncoding.DecodeString(strings.Split(string(pem), "\n")[1])
		if err != nil {
			t.Fatal(err)
		}
		seed := der[len(der)-32:]
		files := 0
		err = filepath.WalkDir(in("data"), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			files++
			for _, secret := range []string{string(seed), base64.StdEncoding.EncodeToString(seed), base64.RawURLEncoding.EncodeToString(seed), string(pem), "secret-key.pem", "bot.example.org"} {
				if bytes.Contains(body, []byte(secret)) {
					t.Errorf("%s has %.20q", path, secret)
				}
			}
			return err
		})
		if err != nil || files < 5 {
			t.Errorf("%d files, %v", files, err)
		}
	})
}
