package dashboard

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

// The limits of package web.
const (
	addressLimit = 8 << 10
	formLimit    = 64 << 10
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// everything are addresses of each kind.
var everything = []string{"/", "/search?q=a", "/api/v1/search?q=a", "/opensearch.xml", "/static/style.css", "/nothing", "/login", "/mcp"}

// A page under a name that was made to lead here is shown nothing.
func TestForeignHost(t *testing.T) {
	c := browse(t, shows(Options{Hosts: []string{"crawl.example.org"}}, running()))
	for _, path := range everything {
		for host, known := range map[string]bool{
			"127.0.0.1:7890": true, "localhost:7890": true, "[::1]:7890": true, "::1": true, "192.0.2.1": true, "LOCALHOST": true, "localhost.:1": true,
			"crawl.example.org": true, "Crawl.Example.org:443": true,
			"evil.example": false, "evil.example:7890": false, "127.0.0.1.evil.example": false, "localhost.evil.example:1": false, "x.crawl.example.org": false,
			"": false, "127.0.0.1:7890:1": false, "[::1": false,
		} {
			code, body := c.get(path, func(r *http.Request) { r.Host = host })
			if refused := code == http.StatusForbidden; refused == known || refused && strings.Contains(body, "manuals") {
				t.Errorf("%s as %q: %d %s", path, host, code, body)
			}
		}
	}
}

// A page of another origin gets nothing, by any method. A link in it may be followed.
func TestForeignOrigin(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	for _, path := range everything {
		for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1:7891", "http://127.0.0.1", "http://localhost:7890", "", "ftp://127.0.0.1:7890",
			"http://u@127.0.0.1:7890", "http://127.0.0.1:7890/x"} {
			for _, method := range []string{"GET", "POST", "PUT", "OPTIONS"} {
				if resp := c.ask(method, path, "", header("Origin", origin)); resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s from %q: %d", method, path, origin, resp.StatusCode)
				}
			}
		}
		if code, _ := c.get(path, header("Sec-Fetch-Site", "cross-site")); code != http.StatusForbidden {
			t.Errorf("%s into a page of another site: %d", path, code)
		}
		if code, _ := c.get(path, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "iframe")); code != http.StatusForbidden {
			t.Errorf("%s into a frame of another site: %d", path, code)
		}
		if code, _ := c.get(path, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")); code == http.StatusForbidden {
			t.Errorf("a link to %s cannot be followed", path)
		}
		if code, _ := c.get(path, header("Origin", "http://127.0.0.1:7890"), header("Sec-Fetch-Site", "same-origin")); code == http.StatusForbidden {
			t.Errorf("%s is refused to our own page", path)
		}
	}
}

// Every answer has the header fields that limit what a browser may do with it.
func TestHeaders(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	for _, path := range everything {
		h := c.ask("GET", path, "").Header
		csp := h.Get("Content-Security-Policy")
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			!strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %v", path, h)
		}
		if path != "/static/style.css" && h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept: %v", path, h)
		}
	}
	_, body := c.get("/")
	for _, inline := range []string{"<script>", "<style", " style=", " onclick", "javascript:"} {
		if strings.Contains(body, inline) {
			t.Errorf("the page has %s, which its policy forbids", inline)
		}
	}
}

// Nothing changes without the token of this session's forms, sent from our own page.
func TestCSRF(t *testing.T) {
	w := shows(Options{Token: "a long enough token"}, running())
	c := browse(t, w)
	c.ask("POST", "/login", url.Values{"csrf": {c.csrf("/")}, "token": {"a long enough token"}}.Encode())
	other := browse(t, w)
	good := c.csrf("/")
	for name, body := range map[string]string{
		"no token": "", "an empty one": "csrf=", "another": "csrf=AAAA", "that of another session": "csrf=" + other.csrf("/"), "in the address": "",
		"too large a form": "csrf=" + good + "&x=" + strings.Repeat("x", formLimit),
	} {
		path := "/logout"
		if name == "in the address" {
			path += "?csrf=" + good
		}
		if code := c.ask("POST", path, body).StatusCode; code != http.StatusForbidden && code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, code)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"no origin":           func(r *http.Request) { r.Header.Del("Origin") },
		"an unknown origin":   header("Origin", "null"),
		"a page of this site": header("Sec-Fetch-Site", "same-site"),
	} {
		if code := c.ask("POST", "/logout", "csrf="+good, change).StatusCode; code != http.StatusForbidden {
			t.Errorf("%s: %d", name, code)
		}
	}
	if code, _ := c.get("/"); code != 200 {
		t.Fatalf("one of them did log out: %d", code)
	}
	long := "csrf=" + good + "&x="
	if code := c.ask("POST", "/logout", long+strings.Repeat("x", formLimit-len(long))).StatusCode; code != http.StatusSeeOther {
		t.Errorf("as it should be, and as large as may be: %d", code)
	}
	if code, _ := c.get("/"); code != http.StatusUnauthorized {
		t.Errorf("after logging out: %d", code)
	}
}

// Without the token nothing is shown but the page that asks for it.
func TestToken(t *testing.T) {
	const token = "a long enough token"
	w := shows(Options{Token: token}, running())
	c := browse(t, w)
	for _, path := range everything {
		code, body := c.get(path)
		open := path == "/login" || strings.HasPrefix(path, "/static/")
		if (code == http.StatusUnauthorized) == open || strings.Contains(body, "manuals") || strings.Contains(body, "1,000") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := c.get("/", header("Accept", "text/event-stream")); code != http.StatusUnauthorized {
		t.Errorf("a stream: %d", code)
	}
	if code := c.ask("POST", "/logout", "csrf="+c.csrf("/")).StatusCode; code != http.StatusUnauthorized {
		t.Errorf("a form: %d", code)
	}
	// By the address that the terminal shows.
	resp := c.ask("GET", "/login?token="+url.QueryEscape(token), "")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	k := resp.Cookies()[0]
	if !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Secure || strings.Contains(k.Value, "token") || k.Name != "curtsy-7890" {
		t.Errorf("cookie %+v", k)
	}
	if code, body := c.get("/"); code != 200 || !strings.Contains(body, "1,000") {
		t.Errorf("logged in: %d %s", code, body)
	}
	// A process that starts again asks for the token again, because the key of cookies is random.
	restarted := browse(t, shows(Options{Token: token}, running()))
	restarted.cookies[k.Name] = k
	if code, _ := restarted.get("/"); code != http.StatusUnauthorized {
		t.Errorf("a cookie of another process: %d", code)
	}
	// By the form, which leads on to the requested page, on this server only.
	for next, want := range map[string]string{"/search?q=a": "/search?q=a", "//evil.example/": "/", "https://evil.example/": "/", "/\\evil.example": "/", "": "/"} {
		c := browse(t, w)
		resp := c.ask("POST", "/login", url.Values{"csrf": {c.csrf("/")}, "token": {token + "\n"}, "next": {next}}.Encode())
		if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != want {
			t.Errorf("next %q: %d to %q", next, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
	// By a header field, for programs that read; they cannot change anything.
	c = browse(t, w)
	bearer := header("Authorization", "Bearer "+token)
	if code, _ := c.get("/api/v1/search?q=a", bearer); code == http.StatusUnauthorized {
		t.Errorf("by header: %d", code)
	}
	if code := c.ask("POST", "/logout", "csrf="+c.csrf("/"), bearer).StatusCode; code != http.StatusUnauthorized {
		t.Errorf("a change by header: %d", code)
	}
}

// A logout ends the session, copies of the cookie included, and no other session.
func TestLogoutEndsTheSession(t *testing.T) {
	const token = "a long enough token"
	w := shows(Options{Token: token}, running())
	enter := func() (*client, *http.Cookie) {
		c := browse(t, w)
		return c, c.ask("GET", "/login?token="+url.QueryEscape(token), "").Cookies()[0]
	}
	c, k := enter()
	other, _ := enter()
	if code := c.ask("POST", "/logout", "csrf="+c.csrf("/")).StatusCode; code != http.StatusSeeOther {
		t.Fatalf("logout: %d", code)
	}
	c.cookies[k.Name] = k
	if code, _ := c.get("/"); code != http.StatusUnauthorized {
		t.Errorf("a copy of the cookie: %d", code)
	}
	if code, _ := other.get("/"); code != http.StatusOK {
		t.Errorf("another browser: %d", code)
	}
}

// Whoever sends wrong tokens is answered that there are too many, and does not shut out who has the
// right one and asks from the same address.
func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shows(Options{Token: "a long enough token"}, running())
		c := browse(t, w)
		for i := range 60 {
			want := http.StatusUnauthorized
			if i >= 10 {
				want = http.StatusTooManyRequests
			}
			if code, _ := c.get("/login?token=wrong"); code != want {
				t.Fatalf("wrong token %d: %d, want %d", i, code, want)
			}
		}
		right := header("Authorization", "Bearer a long enough token")
		if code, _ := c.get("/api/v1/search?q=a", right); code != http.StatusOK {
			t.Errorf("the right token in a header after 60 wrong ones: %d", code)
		}
		if code := c.ask("POST", "/mcp", "{}", right, header("Content-Type", "application/json"), header("Accept", "application/json, text/event-stream")).StatusCode; code == http.StatusUnauthorized || code == http.StatusTooManyRequests {
			t.Errorf("an assistant after 60 wrong tokens: %d", code)
		}
		if code, _ := c.get("/login?token=a+long+enough+token"); code != http.StatusSeeOther {
			t.Errorf("a login after 60 wrong tokens: %d", code)
		}
	})
}

// Who has not logged in gets no cookie, whatever is asked for and however.
func TestNoCookieBeforeLogin(t *testing.T) {
	const token = "a long enough token"
	c := browse(t, shows(Options{Token: token}, running()))
	for _, path := range append(everything, "/login?token=wrong") {
		for _, change := range []func(*http.Request){header("X", "y"), header("Authorization", "Bearer "+token), header("Authorization", "Bearer wrong")} {
			if resp := c.ask("GET", path, "", change); len(resp.Cookies()) > 0 {
				t.Errorf("%s: %v", path, resp.Cookies())
			}
		}
	}
	for _, given := range []string{"wrong", token} {
		resp := c.ask("POST", "/login", url.Values{"csrf": {c.csrf("/login")}, "token": {given}}.Encode())
		if got, want := len(resp.Cookies()) > 0, given == token; got != want {
			t.Errorf("after a login with %q: %v", given, resp.Cookies())
		}
	}
	if resp := c.ask("POST", "/logout", "csrf="+c.csrf("/")); len(resp.Cookies()) != 1 || resp.Cookies()[0].MaxAge >= 0 {
		t.Errorf("after logging out: %v", resp.Cookies())
	}
}

// Behind a proxy that the operator names, X-Forwarded-For says who sent wrong tokens, and
// X-Forwarded-Proto whether cookies need TLS. Others can write what they like.
func TestTrustedProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const token = "a long enough token"
		w := shows(Options{Token: token, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, running())
		from := func(addr, client string) func(*http.Request) {
			return func(r *http.Request) {
				r.RemoteAddr = addr
				r.Header.Set("X-Forwarded-For", "192.0.2.99, "+client)
				r.Header.Set("X-Forwarded-Proto", "https")
			}
		}
		wrong := func(addr, client string) int {
			code, _ := browse(t, w).get("/login?token=wrong", from(addr, client))
			return code
		}
		for range 11 {
			wrong("10.0.0.1:1", "203.0.113.1")
			wrong("198.51.100.1:1", "203.0.113.2") // no proxy of ours
		}
		for _, c := range []struct {
			addr, client string
			want         int
		}{
			{"10.0.0.1:1", "203.0.113.1", 429}, {"10.9.9.9:1", "203.0.113.1", 429}, {"10.0.0.1:1", "203.0.113.2", 401}, {"198.51.100.1:1", "203.0.113.3", 429},
		} {
			if got := wrong(c.addr, c.client); got != c.want {
				t.Errorf("from %s for %s: %d, want %d", c.addr, c.client, got, c.want)
			}
		}
		for addr, secure := range map[string]bool{"10.0.0.1:1": true, "198.51.100.1:1": false} {
			k := browse(t, w).ask("GET", "/login?token="+url.QueryEscape(token), "", from(addr, "203.0.113.4")).Cookies()[0]
			if k.Secure != secure || strings.HasPrefix(k.Name, "__Host-") != secure || !k.HttpOnly || k.SameSite != http.SameSiteStrictMode {
				t.Errorf("through %s: %+v", addr, k)
			}
		}
	})
}

// With TLS, cookies are sent over TLS only, and pages of the same name without TLS are of another
// origin.
func TestTLS(t *testing.T) {
	c := browse(t, shows(Options{Token: "a long enough token"}, running()))
	c.tls = true
	resp := c.ask("GET", "/login?token=a+long+enough+token", "", func(r *http.Request) { r.TLS = &tls.ConnectionState{} })
	if k := resp.Cookies()[0]; !k.Secure || k.Name != "__Host-curtsy-7890" || k.Path != "/" || k.Domain != "" {
		t.Errorf("cookie %+v", k)
	}
	if code, _ := c.get("/", header("Origin", "http://127.0.0.1:7890")); code != http.StatusForbidden {
		t.Errorf("from a page without TLS: %d", code)
	}
	if code, _ := c.get("/", header("Origin", "https://127.0.0.1:7890")); code != 200 {
		t.Errorf("from our own page: %d", code)
	}
	// Behind a proxy that speaks TLS, we do not speak it.
	c = browse(t, shows(Options{Hosts: []string{"crawl.example.org"}}, running()))
	c.host = "crawl.example.org"
	if code, _ := c.get("/", header("Origin", "https://crawl.example.org")); code != 200 {
		t.Errorf("behind a proxy: %d", code)
	}
}

// The length of an address is limited.
func TestLongAddress(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	if code, _ := c.get("/?x=" + strings.Repeat("x", addressLimit-3)); code != 200 {
		t.Errorf("as long as may be: %d", code)
	}
	if code, _ := c.get("/?x=" + strings.Repeat("x", addressLimit-2)); code != http.StatusRequestURITooLong {
		t.Errorf("longer: %d", code)
	}
}

// A crawl that does not run cannot be changed, and the page says what to do instead.
func TestActAtRest(t *testing.T) {
	const token = "a long enough token"
	c := browse(t, shows(Options{Token: token}, running()))
	c.ask("GET", "/login?token="+url.QueryEscape(token), "")
	good := url.Values{"csrf": {c.csrf("/")}}.Encode()
	for _, a := range actions {
		if code := c.ask("POST", a.path, "").StatusCode; code != http.StatusForbidden {
			t.Errorf("%s without a token: %d", a.path, code)
		}
		resp := c.ask("POST", a.path, good)
		if body := read(t, resp); resp.StatusCode != http.StatusConflict || !strings.Contains(body, "<code>curtsy crawl<") {
			t.Errorf("%s: %d %s", a.path, resp.StatusCode, body)
		}
	}
	if _, body := c.get("/"); strings.Contains(body, "/do/pause") {
		t.Error("a crawl that does not run can be paused")
	}
}
