package identity

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/botauth"
)

func testKey(t *testing.T, n byte) *botauth.Key {
	t.Helper()
	k, err := botauth.NewKey(bytes.NewReader(bytes.Repeat([]byte{n}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func testOptions(t *testing.T) Options {
	return Options{
		Agent: "https://bot.example.org", Form: botauth.FormString, Keys: []*botauth.Key{testKey(t, 1), testKey(t, 2)}, Token: "curtsy",
		UserAgent: "curtsy/1.0 (+me@example.org)", Contact: "me@example.org", Purposes: []string{"search", "tdm"},
		Ranges: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28"), netip.MustParsePrefix("2001:db8::/48")},
		Now:    time.Unix(1790000000, 0), Valid: 24 * time.Hour,
	}
}

// byName makes the files of options.
func byName(t *testing.T, o Options) map[string]string {
	t.Helper()
	list, err := Files(o)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range list {
		files[f.Name] = string(f.Body)
	}
	return files
}

// Row 32: the directory, the header it is served with, the addresses, the card and the page.
func TestSigning_8_32_WhoWeAre(t *testing.T) {
	o := testOptions(t)
	files := byName(t, o)
	const at = ".well-known/http-message-signatures-directory"
	d, odd, err := botauth.ParseDirectory([]byte(files[at]))
	if err != nil || odd != nil || len(d.Keys) != 2 || d.Keys[0].KID != o.Keys[0].ID() || strings.Contains(files[at], `"alg"`) {
		t.Errorf("%s: %q, %v", files[at], odd, err)
	}
	want := botauth.SignDirectory([]byte(files[at]), "bot.example.org", o.Now, o.Now.Add(o.Valid), o.Keys...)
	for name := range want {
		if line := name + ": " + want.Get(name) + "\n"; !strings.Contains(files[HeadersFile], line) {
			t.Errorf("%s does not have %s", files[HeadersFile], line)
		}
		if name != "Content-Type" && !strings.Contains(files[NginxFile], "add_header "+name+" '"+want.Get(name)+"';") {
			t.Errorf("nginx does not have %s", name)
		}
	}
	for _, tag := range []string{botauth.DirectoryTag, `"@authority";req`, `expires=1790086400`, o.Keys[1].ID()} {
		if !strings.Contains(files[HeadersFile], tag) {
			t.Errorf("the header does not have %s", tag)
		}
	}

	var ranges struct {
		FormatVersion, Synctoken, CreationTime string
		Prefixes                               []map[string]string
	}
	if err := json.Unmarshal([]byte(files["crawler-ips.json"]), &ranges); err != nil {
		t.Fatal(err)
	}
	if ranges.FormatVersion != "1.0" || ranges.Synctoken != "1790000000" || ranges.CreationTime != "2026-09-21T14:13:20Z" || len(ranges.Prefixes) != 2 {
		t.Errorf("%+v", ranges)
	}
	for i, want := range []map[string]string{{"ipv4Prefix": "192.0.2.0/28", "service": "curtsy"}, {"ipv6Prefix": "2001:db8::/48", "service": "curtsy"}} {
		for k, v := range want {
			if got := ranges.Prefixes[i]; got[k] != v || len(got) != len(want) {
				t.Errorf("prefix %d: %v", i, got)
			}
		}
	}

	var card map[string]any
	if err := json.Unmarshal([]byte(files["signature-agent-card.json"]), &card); err != nil {
		t.Fatal(err)
	}
	bot, _ := card["web_bot_auth"].(map[string]any)
	for name, pair := range map[string][2]any{
		"client_id": {card["client_id"], "https://bot.example.org/signature-agent-card.json"}, "jwks_uri": {card["jwks_uri"], "https://bot.example.org/" + at},
		"user agent": {bot["expected-user-agent"], o.UserAgent}, "token": {bot["rfc9309-product-token"], "curtsy"}, "trigger": {bot["trigger"], "crawler"},
		"purpose": {bot["purpose"], "search tdm"}, "ips": {bot["ips_uri"], "https://bot.example.org/crawler-ips.json"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
	for _, w := range []string{`<link rel="client-ranges"`, "search: to make pages findable", "tdm: for text", "mailto:me@example.org", "User-agent: curtsy", o.Keys[1].ID(), "1s from the end"} {
		if !strings.Contains(files["index.html"], w) {
			t.Errorf("the page does not say %s", w)
		}
	}
	// The same options give the same files, and nothing in them is secret.
	for name, body := range byName(t, o) {
		if body != files[name] {
			t.Errorf("%s is another one", name)
		}
		if seed := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{1}, 30)); strings.Contains(body, seed) {
			t.Errorf("%s shows the key", name)
		}
	}
}

// Unknown values are not published, and text of strangers is harmless.
func TestSigning_8_32_Less(t *testing.T) {
	o := testOptions(t)
	o.Ranges, o.Contact, o.UserAgent = nil, `"><script>`, `x <script>alert(1)</script>`
	files := byName(t, o)
	if _, ok := files["crawler-ips.json"]; ok || strings.Contains(files["index.html"], "client-ranges") || strings.Contains(files["signature-agent-card.json"], "ips_uri") {
		t.Error("ranges are published that nobody named")
	}
	if strings.Contains(files["index.html"], "<script>") {
		t.Errorf("a script: %s", files["index.html"])
	}
}

// With the form jwks the key set is where the agent's address says.
func TestSigning_8_32_KeySetElsewhere(t *testing.T) {
	o := testOptions(t)
	o.Form, o.Agent = botauth.FormJWKS, "https://bot.example.org/keys/set.json?v=1"
	files := byName(t, o)
	if files["keys/set.json"] == "" || !strings.Contains(files[HeadersFile], "Content-Type: application/jwk-set+json\n") || !strings.Contains(files[NginxFile], "location = /keys/set.json {") {
		t.Errorf("%v", files)
	}
	for _, agent := range []string{"https://bot.example.org/../x", "https://bot.example.org/a/", "https://bot.example.org/index.html", "https://bot.example.org/headers.txt"} {
		o.Agent = agent
		if _, err := Files(o); err == nil || !strings.Contains(err.Error(), "/keys.json") {
			t.Errorf("%s: %v", agent, err)
		}
	}
}

func TestSigning_8_32_Ranges(t *testing.T) {
	got, err := ParseRanges([]string{"2001:db8::1/48", "192.0.2.7", "192.0.2.9/28", "192.0.2.7/32"})
	if want := "[192.0.2.0/28 192.0.2.7/32 2001:db8::/48]"; err != nil || strings.ReplaceAll(joined(got), ",", " ") != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	for _, bad := range []string{"", "x", "10.0.0.1", "127.0.0.1", "0.0.0.0/0", "192.0.0.0/7", "fe80::1", "fe80::1%eth0", "fd00::/8", "::ffff:192.0.2.1", "2001:db8::/18", "192.0.2.1/33"} {
		if got, err := ParseRanges([]string{bad}); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func joined(list []netip.Prefix) string {
	var words []string
	for _, p := range list {
		words = append(words, p.String())
	}
	return "[" + strings.Join(words, ",") + "]"
}

// Files are replaced as a whole. A key is never replaced, and only its owner can read it.
func TestSigning_8_32_Written(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	list, err := Files(testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Write(dir, list); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
			if info, _ := d.Info(); info.Mode().Perm() != 0o644 {
				t.Errorf("%s: %v", path, info.Mode())
			}
		}
		return err
	})
	if err != nil || n != len(list) {
		t.Errorf("%d files, want %d; %v", n, len(list), err)
	}
	name := filepath.Join(dir, "sign.pem")
	if err := WriteKey(name, testKey(t, 1)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := WriteKey(name, testKey(t, 2)); err == nil || !strings.Contains(err.Error(), "sign-2.pem") {
		t.Errorf("a key was replaced: %v", err)
	}
	body, err := os.ReadFile(name)
	if k, keyErr := botauth.ParseKey(body); err != nil || keyErr != nil || k.ID() != testKey(t, 1).ID() {
		t.Errorf("%v, %v, %v", k, err, keyErr)
	}
}
