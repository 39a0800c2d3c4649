package credentials

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

func parse(t *testing.T, text string) *Set {
	t.Helper()
	s, err := Parse([]byte(text), t.TempDir())
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return s
}

func originOf(t testing.TB, raw string) canon.Origin {
	t.Helper()
	u, err := canon.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Origin()
}

func TestWhichSite(t *testing.T) {
	s := parse(t, `
sites:
  https://docs.example.org: {bearer: exact}
  https://DOCS.example.org:8443: {bearer: port}
  http://docs.example.org: {bearer: plain}
  https://*.example.org: {bearer: below}
  https://*.deep.example.org: {bearer: deeper}
  https://Bücher.example: {bearer: idn}
  http://127.0.0.1:8000: {bearer: address}
  http://[::1]: {bearer: six}
  https://*.corp: {bearer: corp}
`)
	for raw, want := range map[string]string{
		"https://docs.example.org/a":       "exact",
		"https://docs.example.org:443/":    "exact",
		"https://docs.example.org:8443/":   "port",
		"http://docs.example.org/":         "plain",
		"http://docs.example.org:81/":      "",
		"https://a.example.org/":           "below",
		"https://a.b.example.org/":         "below",
		"https://x.deep.example.org/":      "deeper",
		"https://deep.example.org/":        "below",
		"https://example.org/":             "",
		"https://badexample.org/":          "",
		"https://docs.example.org.evil/":   "",
		"https://a.example.org:444/":       "",
		"http://a.example.org/":            "",
		"https://xn--bcher-kva.example/":   "idn",
		"http://127.0.0.1:8000/":           "address",
		"http://127.0.0.1/":                "",
		"http://[::1]/":                    "six",
		"https://x.corp/":                  "corp",
		"https://corp/":                    "",
		"https://example.org.x.example/":   "",
		"https://docs.example.org.:443/q?": "exact",
	} {
		u, err := canon.Parse(raw)
		if err != nil {
			t.Fatal(raw, err)
		}
		if u.Host() == "docs.example.org." { // another host
			want = ""
		}
		got := ""
		if site := s.For(u.Origin()); site != nil {
			h := http.Header{}
			site.AddTo(h)
			got = strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
		}
		if got != want {
			t.Errorf("%s is shown %q, want %q", raw, got, want)
		}
	}
	if (*Set)(nil).For(originOf(t, "https://docs.example.org/")) != nil || (*Set)(nil).All() != nil || (*Set)(nil).Login() != nil {
		t.Error("no set has something")
	}
}

func TestWhatIsShown(t *testing.T) {
	s := parse(t, `
sites:
  https://a.test:
    basic: {user: "Ärger", password: "a:b c"}
    cookies: {session: "x=y, z", other: "1"}
    headers: {x-api-key: "k e y"}
  https://b.test: {headers: {authorization: "Token t"}}
  https://c.test: {basic: {user: only}}
`)
	site := s.For(originOf(t, "https://a.test/"))
	h := http.Header{"Accept": {"text/html"}}
	site.AddTo(h)
	want := http.Header{"Accept": {"text/html"}, "Authorization": {"Basic w4RyZ2VyOmE6YiBj"}, "Cookie": {"session=x=y, z; other=1"}, "X-Api-Key": {"k e y"}}
	if fmt.Sprint(h) != fmt.Sprint(want) {
		t.Errorf("%v", h)
	}
	var b bytes.Buffer
	delete(h, "Accept")
	h.Write(&b)
	if site.HeaderBytes() != b.Len() {
		t.Errorf("%d bytes, they are %d", site.HeaderBytes(), b.Len())
	}
	for field, carried := range map[string]bool{"COOKIE": true, "x-API-key": true, "Accept": false} {
		if site.Carries(field) != carried {
			t.Errorf("carries %s: %v", field, !carried)
		}
	}
	for raw, want := range map[string]string{"https://b.test/": "Token t", "https://c.test/": "Basic b25seTo="} {
		h := http.Header{}
		s.For(originOf(t, raw)).AddTo(h)
		if h.Get("Authorization") != want {
			t.Errorf("%s: %v", raw, h)
		}
	}
}

// An error names the line and what would work, and contains nothing that may be a secret.
func TestRefused(t *testing.T) {
	site := func(s string) string { return "sites:\n  https://a.test:\n    " + s + "\n" }
	for text, want := range map[string]string{
		"":                 "it is empty",
		"# nothing\n":      "it is empty",
		"SECRET":           "line 1: the file: expected lines",
		"[SECRET]":         "line 1: the file: expected lines",
		"a: [\nSECRET":     "it is not valid YAML near line",
		"a: *SECRET":       "it is not valid YAML",
		"sites: {}\n---\n": "it is not valid YAML",
		"SECRET: {}":       "line 1: only sites: and proxy:",
		"sites: SECRET":    "line 1: sites: expected lines",
		"sites:\n  docs.example.org: {bearer: SECRET}":                              "line 2: a site must be written with its scheme and host; use for example https://docs.example.org",
		"sites:\n  https://me:SECRET@a.test: {bearer: x}":                           "line 2: a site must have only a scheme, a host and a port",
		"sites:\n  https://a.test/: {bearer: SECRET}":                               "line 2: a site must have only a scheme, a host and a port",
		"sites:\n  ftp://a.test: {bearer: SECRET}":                                  "line 2: a site must be written with its scheme and host",
		"sites:\n  https://a.*.test: {bearer: SECRET}":                              "this is not a host",
		"sites:\n  https://*: {bearer: SECRET}":                                     "this is not a host",
		"sites:\n  https://*.org: {bearer: SECRET}":                                 "anyone can register a name below this suffix",
		"sites:\n  https://*.github.io: {bearer: SECRET}":                           "anyone can register a name below this suffix",
		"sites:\n  https://*.10.0.0.1: {bearer: SECRET}":                            "an IP address has no subdomains",
		"sites:\n  https://a.test: {bearer: x}\n  https://A.test: {bearer: SECRET}": "line 3: https://a.test is given twice",
		"sites:\n  https://a.test: {bearer: x}\n  https://a.test: {bearer: SECRET}": "line 3: sites: a name is given twice",
		"sites:\n  https://a.test: {}":                                              "there are no credentials",
		"sites:\n  http://a.test: {ca: SECRET}":                                     "ca is only for https",
		site("bearer: {x: SECRET}"):                                                 "line 3: bearer: a text is expected here; put it into quotes",
		site("bearer: &SECRET"):                                                     "line 3: bearer: a text is expected here; put it into quotes",
		site("bearer: !SECRET"):                                                     "line 3: bearer: a text is expected here; put it into quotes",
		site(`bearer: ""`):                                                          "line 3: bearer is empty",
		site("bearer:"):                                                             "line 3: bearer is empty",
		site(`bearer: "SECRET and more"`):                                           "line 3: bearer is not a token",
		site(`bearer: "SECRET\n"`):                                                  "line 3: bearer contains a line break",
		site("basic: SECRET"):                                                       "line 3: basic: expected lines",
		site("basic: {user: a, pass: SECRET}"):                                      "line 3: basic has user and password",
		site(`basic: {user: "SEC:RET", password: SECRET}`):                          "must not contain a colon",
		site("basic: {}"):                                                           "write user and password below it",
		site("bearer: x\n    basic: {user: a, password: SECRET}"):                   "line 4: Authorization is given twice",
		site("headers: {Cookie: x}\n    cookies: {a: SECRET}"):                      "Cookie is given twice",
		site("headers: {a b: SECRET}"):                                              "this is not a valid name of a header field",
		site("headers: {user-agent: SECRET}"):                                       "Curtsy sets User-Agent itself",
		site("headers: {If-None-Match: SECRET}"):                                    "Curtsy sets If-None-Match itself",
		site("headers: {Proxy-Authorization: SECRET}"):                              "Curtsy sets Proxy-Authorization itself",
		site("headers: {Host: SECRET}"):                                             "Curtsy sets Host itself",
		site(`headers: {X: " SECRET"}`):                                             "is not allowed in a header field",
		site(`cookies: {a: "SECRET;b=c"}`):                                          "this cookie cannot be sent",
		site(`cookies: {a: "SECRETä"}`):                                             "this cookie cannot be sent",
		site("password: SECRET"):                                                    "line 3: https://a.test: only basic, bearer, headers, cookies, cert, key and ca are allowed here",
		site("cert: a.pem"):                                                         "cert and key must be given together",
		site("ca: nowhere.pem"):                                                     "nowhere.pem: no such file",
		"proxy: {user: a, password: SECRET, x: y}":                                  "line 1: proxy has user and password",
		"proxy: {user: a, password: \"" + strings.Repeat("S", 256) + "\"}":          "at most 255 bytes",
	} {
		_, err := Parse([]byte(text), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: the error shows the secret: %v", text, err)
		}
	}
}

func TestLimits(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("sites:\n")
		for i := range n {
			fmt.Fprintf(&b, "  https://h%d.test: {bearer: x}\n", i)
		}
		return b.String()
	}
	if s := parse(t, many(MaxSites)); len(s.All()) != MaxSites {
		t.Errorf("%d sites", len(s.All()))
	}
	if _, err := Parse([]byte(many(MaxSites+1)), ""); err == nil || !strings.Contains(err.Error(), "more than 10000 sites") {
		t.Error(err)
	}
	// "Authorization: Bearer " and the end of the line have 24 bytes.
	header := func(n int) []byte {
		return []byte("sites:\n  https://a.test: {bearer: " + strings.Repeat("x", n-24) + "}\n")
	}
	if _, err := Parse(header(MaxHeader), ""); err != nil {
		t.Error(err)
	}
	if _, err := Parse(header(MaxHeader+1), ""); err == nil || !strings.Contains(err.Error(), "more than 16384 bytes of header fields") {
		t.Error(err)
	}
	file := func(n int) []byte {
		return []byte("sites:\n  https://a.test: {bearer: x}\n#" + strings.Repeat(" ", n-len("sites:\n  https://a.test: {bearer: x}\n#")))
	}
	if _, err := Parse(file(MaxFile), ""); err != nil {
		t.Error(err)
	}
	if _, err := Parse(file(MaxFile+1), ""); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Error(err)
	}
}

// The modes of the credentials file, and of key files that it names, are checked.
func TestWhoMayRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, body []byte, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, body, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	cert, key := pair(t)
	write("cert.pem", cert, 0o644)
	write("ca.pem", cert, 0o644)
	text := []byte("sites:\n  https://a.test: {cert: cert.pem, key: key.pem, ca: ca.pem}\nproxy: {user: u, password: p, ca: ca.pem}\n")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o640: true, 0o400: true, 0o644: false, 0o604: false, 0o660: false, 0o602: false} {
		write("key.pem", key, 0o600)
		s, err := ReadFile(write("credentials.yaml", text, mode))
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "type: chmod 600 "+filepath.Join(dir, "credentials.yaml")) {
			t.Errorf("%o: %v", mode, err)
		}
		if ok && (!s.All()[0].HasCertificate() || !s.All()[0].HasTLS() || s.All()[0].HasHeader() || s.Login().Roots() == nil) {
			t.Errorf("%o: %+v", mode, s)
		}
		write("key.pem", key, mode)
		_, err = ReadFile(write("credentials.yaml", text, 0o600))
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "key: "+filepath.Join(dir, "key.pem")+": other users can read") {
			t.Errorf("key, %o: %v", mode, err)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "nowhere")); err == nil || err.Error() != "the file does not exist" {
		t.Error(err)
	}
	if _, err := ReadFile(dir); err == nil || err.Error() != "it is not a regular file" {
		t.Error(err)
	}
	write("key.pem", cert, 0o600) // a certificate is not a key
	if _, err := ReadFile(filepath.Join(dir, "credentials.yaml")); err == nil || !strings.Contains(err.Error(), "cert and key: ") {
		t.Error(err)
	}
	write("key.pem", key, 0o600)
	write("ca.pem", key, 0o600)
	if _, err := ReadFile(filepath.Join(dir, "credentials.yaml")); err == nil || !strings.Contains(err.Error(), "ca.pem contains no PEM certificates") {
		t.Error(err)
	}
}

// pair makes a certificate and its key.
func pair(t *testing.T) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// Sessions of one site are not resumed at another, and the common settings are kept.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, _ := pair(t)
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), cert, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Parse([]byte("sites:\n  https://a.test: {ca: ca.pem}\n"), dir)
	if err != nil {
		t.Fatal(err)
	}
	base := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1), NextProtos: []string{"http/1.1"}}
	c := s.All()[0].TLS(base)
	if c.ClientSessionCache == base.ClientSessionCache || c.RootCAs == nil || base.RootCAs != nil || len(c.NextProtos) != 1 || c.GetClientCertificate != nil {
		t.Errorf("%+v", c)
	}
}

// Printed and logged values contain no secret.
func TestNothingPrintsSecrets(t *testing.T) {
	s := parse(t, "sites:\n  https://a.test: {basic: {user: u, password: hunter2}}\nproxy: {user: u, password: hunter3}\n")
	p := &Proxy{Scheme: "http", Addr: "127.0.0.1:1", Login: s.Login()}
	var out bytes.Buffer
	for _, v := range []any{s, s.All()[0], s.Login(), p} {
		fmt.Fprintf(&out, "%v %+v %#v %s\n", v, v, v, v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	}
	for _, secret := range []string{"hunter", "dTpodW50ZXI", "Authorization"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q stands in\n%s", secret, out.String())
		}
	}
}

func TestParseProxy(t *testing.T) {
	for raw, want := range map[string]string{
		"http://127.0.0.1:3128":       "http://127.0.0.1:3128",
		"http://proxy.example:3128/":  "http://proxy.example:3128",
		"https://proxy.example:443":   "https://proxy.example:443",
		"socks5://[::1]:1080":         "socks5://[::1]:1080",
		"http://me:SECRET@proxy:3128": "! write them under proxy: in a file for --credentials",
		"http://proxy":                "! has no port; use for example http://127.0.0.1:3128",
		"http://:3128":                "! has no port",
		"http://proxy:0":              "! has no port",
		"http://proxy:99999":          "! has no port",
		"proxy:3128":                  "! is not the address of a proxy",
		"socks4://proxy:1080":         "! is not a supported kind of proxy",
		"socks5h://proxy:1080":        "! use socks5://proxy:1080 with --proxy-resolves",
		"http://proxy:3128/path":      "! has text after the port; use http://proxy:3128",
		"":                            "! is not the address of a proxy",
	} {
		p, err := ParseProxy(raw)
		if why, refused := strings.CutPrefix(want, "! "); refused {
			if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%q: %v", raw, err)
			}
		} else if err != nil || p.String() != want {
			t.Errorf("%q: %v, %v", raw, p, err)
		}
	}
	if p, _ := ParseProxy("http://[::1]:3128"); p.Host() != "::1" {
		t.Error(p.Host())
	}
}

// Any text is accepted or refused within the limits, and an error quotes none of it.
func FuzzParse(f *testing.F) {
	f.Add("sites:\n  https://a.test: {basic: {user: u, password: SECRET}}\n")
	f.Add("sites:\n  https://*.a.test:\n    headers: {X: SECRET}\n    cookies: {a: SECRET}\nproxy: {user: u, password: SECRET}\n")
	f.Add("a: &b [*b, *SECRET]")
	f.Add("? {SECRET: x}\n: y")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text), "/nowhere")
		if err != nil {
			if strings.Contains(err.Error(), "SECRET") && !strings.Contains(err.Error(), "/nowhere/") && !strings.Contains(text, "://") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, site := range s.All() {
			if !site.HasHeader() && !site.HasTLS() || site.HeaderBytes() > MaxHeader {
				t.Errorf("%q: %s has %d bytes", text, site.Name(), site.HeaderBytes())
			}
			h := http.Header{}
			site.AddTo(h)
			for name, values := range h {
				if len(values) != 1 || strings.ContainsAny(name+values[0], "\r\n\x00") {
					t.Errorf("%q: %q: %q", text, name, values)
				}
			}
		}
	})
}

func FuzzParseProxy(f *testing.F) {
	f.Add("http://127.0.0.1:3128")
	f.Add("socks5://[::1]:1080/")
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := ParseProxy(raw)
		if err != nil {
			return
		}
		again, err := ParseProxy(p.String())
		if err != nil || *again != *p || p.Host() == "" {
			t.Errorf("%q is %v, and then %v, %v", raw, p, again, err)
		}
	})
}
