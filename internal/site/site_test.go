package site

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/rup"
)

// running is a running Site with its relay and a client.
type running struct {
	*rootOf
	o     Options
	s     *Site
	relay *relayServer
	url   string
	stop  func()
}

func newSite(t *testing.T, change func(*Options)) *running {
	t.Helper()
	r := &running{rootOf: newRoot(t), relay: startRelay(t)}
	r.must(r.db.Close())
	r.write("index.html", "1")
	r.write("robots.txt", "User-agent: *\nDisallow: /private/\n")
	r.o = Options{
		Root: r.dir, Base: "http://www.site.example", Dir: filepath.Join(t.TempDir(), "state"), Index: "index.html", Ignore: DefaultIgnore(),
		Settle: 20 * time.Millisecond, Serve: "127.0.0.1:0", Unasked: true,
		Info: rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Day}, Exclude: []string{".*"}, MaxQuerySpan: rup.Span{N: 7, Unit: rup.Day}},
		Mail: MailOptions{Relay: r.relay.addr, From: "rup@site.example", TLS: "none"},
	}
	if change != nil {
		change(&r.o)
	}
	r.start()
	return r
}

func (r *running) start() {
	r.t.Helper()
	var err error
	r.s, err = New(r.o)
	r.must(err)
	r.db, r.url = r.s.db, "http://"+r.s.Addr().String()
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.s.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
		r.must(r.s.Close())
	}
	r.t.Cleanup(r.stop)
	r.until("ready", func() bool { return r.s.Ready(r.t.Context()) == nil })
}

func (r *running) until(what string, reached func() bool) {
	r.t.Helper()
	testaid.Until(r.t, what, reached)
}

func (r *running) ask(path string, pairs ...string) (int, string) {
	r.t.Helper()
	v := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		v.Set(pair[0], pair[1])
	}
	resp, err := http.PostForm(r.url+path, v)
	r.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r.must(err)
	return resp.StatusCode, string(body)
}

// Changes in the root are in the index, except paths that robots.txt closes. The index survives a
// restart, and contains what changed meanwhile.
func TestSite(t *testing.T) {
	t.Parallel()
	r := newSite(t, nil)
	r.write("docs/a.html", "1")
	r.write("private/b.html", "1")
	r.write("index.html", "2")
	index := func() string {
		_, body := r.ask("/rup", "Action", "GetIndex", "Span", "1-day")
		return body
	}
	today := time.Now().UTC().Format(time.DateOnly)
	want := "SequenceNumber: 0\nURLBase: http://www.site.example/\n\nNew[" + today + "]: docs/a.html\nChange[" + today + "]: ./\n"
	r.until("the index has the changes", func() bool { return strings.Contains(index(), "Change") && strings.Contains(index(), "New") })
	if got := index(); !strings.Contains(got, want) || strings.Contains(got, "private") {
		t.Errorf("index: %s\nwant %s", got, want)
	}
	r.stop()
	r.write("docs/c.html", "1")
	r.start()
	r.until("the first scan is over", func() bool { return strings.Contains(index(), "docs/c.html") })
	if got := index(); !strings.Contains(got, "docs/a.html, docs/c.html\n") {
		t.Errorf("index after the restart: %s", got)
	}
	resp, err := http.Get(r.url + "/rupinfo.txt")
	r.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if got := string(body); err != nil || got != "RUP-CGI: /rup\nAuthentifier: none\nLatency: day\nExclude: .*\nMaxQuerySpan: 7-day\n" ||
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("rupinfo.txt: %q, %v, %v", got, err, resp.Header)
	}
	if code, _ := r.ask("/other"); code != http.StatusNotFound {
		t.Errorf("/other: %d", code)
	}
	if _, err := New(r.o); err == nil {
		t.Error("two Sites in one directory")
	}
}

// An address that has not confirmed its registration gets no reports. Opening the page with the
// button changes nothing, because programs may do so.
func TestConfirm(t *testing.T) {
	t.Parallel()
	r := newSite(t, func(o *Options) { o.Unasked = false })
	code, body := r.ask("/rup", "Action", "Register", "RobotEmail", "robot@x.example")
	key := regexp.MustCompile(`RegistrationKey: (\S+)`).FindStringSubmatch(body)
	if code != http.StatusOK || key == nil {
		t.Fatalf("Register: %d %s", code, body)
	}
	r.until("the question is mailed", func() bool { return len(r.relay.got()) == 1 })
	mail := string(bytes.ReplaceAll(r.relay.got()[0].raw, []byte("=\r\n"), nil))
	if !strings.Contains(mail, "To: <robot@x.example>") || !strings.Contains(mail, "http://www.site.example/rup/confirm?token=3D") {
		t.Errorf("the question: %s", mail)
	}
	token := regexp.MustCompile(`confirm\?token=3D([A-Z0-9]+)`).FindStringSubmatch(mail)[1]
	pending := func() bool {
		o := &office{rootOf: r.rootOf}
		reg, ok := o.registered("robot@x.example")
		if !ok {
			t.Fatal("not registered")
		}
		return reg.Pending
	}
	office := &office{rootOf: r.rootOf}
	office.back(t, officeID(office), 48*time.Hour)
	r.s.poke()
	resp, err := http.Get(r.url + "/rup/confirm?token=" + token + "%22%3E")
	r.must(err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(page), token+"&#34;&gt;") || !pending() {
		t.Errorf("GET: %s, %v", page, err)
	}
	lastWrite := func() (id int) {
		r.must(r.db.View(func(tx *bolt.Tx) error { id = tx.ID(); return nil }))
		return id
	}
	// The mailer and the scan write as well, at their own times. A write that is caused by a token
	// would occur each time.
	r.until("unknown tokens write nothing", func() bool {
		before := lastWrite()
		for _, ask := range [][]string{{"/rup/leave", "token", "other"}, {"/rup/confirm", "token", "other"}, {"/rup/confirm"}} {
			if code, _ := r.ask(ask[0], ask[1:]...); code != http.StatusBadRequest || !pending() {
				t.Fatalf("%q: %d", ask, code)
			}
		}
		return lastWrite() == before
	})
	if n := len(r.relay.got()); n != 1 {
		t.Errorf("%d mails before it is confirmed", n)
	}
	for range 2 {
		if code, body := r.ask("/rup/confirm", "token", token); code != http.StatusOK || pending() {
			t.Errorf("confirm: %d %s", code, body)
		}
	}
	r.until("a report is mailed", func() bool { return len(r.relay.got()) == 2 })
	if n := string(r.relay.got()[1].raw); !strings.Contains(n, "Subject: RUP report 1 of http://www.site.example/") {
		t.Errorf("the report: %s", n)
	}
	// Each mail contains a way to stop further mails.
	for i, m := range r.relay.got() {
		raw := string(bytes.ReplaceAll(m.raw, []byte("=\r\n"), nil))
		head, body, _ := strings.Cut(strings.ReplaceAll(raw, "\r\n ", " "), "\r\n\r\n")
		if !regexp.MustCompile(`List-Unsubscribe: ?<http://www.site.example/rup/leave\?token=[A-Z0-9]+>`).MatchString(head) ||
			!strings.Contains(head, "List-Unsubscribe-Post: List-Unsubscribe=One-Click") || !strings.Contains(body, "/rup/leave?token=3D") {
			t.Errorf("mail %d: %s", i, raw)
		}
	}
	leave := regexp.MustCompile(`/rup/leave\?token=([A-Z0-9]+)`).FindStringSubmatch(string(r.relay.got()[1].raw))[1]
	if code, body := r.ask("/rup/leave?token="+leave, "List-Unsubscribe", "One-Click"); code != http.StatusOK || !strings.Contains(body, "No further mails") {
		t.Errorf("leaving: %d %s", code, body)
	}
	if _, ok := office.registered("robot@x.example"); ok {
		t.Error("still registered after leaving")
	}
	if code, _ := r.ask("/rup/leave", "token", leave); code != http.StatusBadRequest {
		t.Errorf("leaving twice: %d", code)
	}
}

// A request whose body does not arrive does not block other requests, and one client has a limited
// number of requests at a time.
func TestSilentPosts(t *testing.T) {
	t.Parallel()
	r := newSite(t, func(o *Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	silent := func(client string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", r.s.Addr().String())
		r.must(err)
		t.Cleanup(func() { c.Close() })
		_, err = fmt.Fprintf(c, "POST /rup HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Type: %s\r\nContent-Length: 20\r\n\r\n", client, rup.FormType)
		r.must(err)
		return c
	}
	info := func(client string) int {
		t.Helper()
		q, err := http.NewRequest(http.MethodGet, r.url+"/rupinfo.txt", nil)
		r.must(err)
		q.Header.Set("X-Forwarded-For", client)
		resp, err := http.DefaultClient.Do(q)
		r.must(err)
		resp.Body.Close()
		return resp.StatusCode
	}
	for i := range maxRequests + 1 {
		silent(fmt.Sprintf("198.51.100.%d", i))
	}
	var takers []net.Conn
	for range maxPerPeer {
		takers = append(takers, silent("2001:db8::1"))
	}
	r.until("the places of one client are taken", func() bool {
		if info("2001:db8::ffff") == http.StatusServiceUnavailable {
			return true
		}
		// This request itself counts for a moment, so one of the others may have been refused.
		takers = append(takers, silent("2001:db8::1"))
		return false
	})
	if code := info("2001:db8:0:1::1"); code != http.StatusOK {
		t.Errorf("another client, while bodies do not come: %d", code)
	}
	for _, c := range takers {
		c.Close()
	}
	r.until("the places are given back", func() bool { return info("2001:db8::ffff") == http.StatusOK })
}

// The documentation names the values of the labels that are counted.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "rupd.md"))
	if err != nil {
		t.Fatal(err)
	}
	o := newOffice(t)
	o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
	now := time.Now()
	for _, c := range []struct {
		id   string
		age  time.Duration
		sent error
	}{
		{"A", 0, nil}, {"A", 0, errAddress}, {"A", 0, errRelay}, {"A", 2 * mailLife, errRelay}, {"gone", 0, nil},
	} {
		o.must(o.db.Update(func(tx *bolt.Tx) error {
			w := &waiting{queuedMail: queuedMail{ID: c.id, Created: now.Add(-c.age)}, key: []byte("k")}
			result, err := settle(tx, now, w, c.sent)
			_, row, _ := strings.Cut(string(doc), "`curtsy_rupd_mails_total` by `result`")
			if row, _, _ = strings.Cut(row, "\n"); !strings.Contains(row, "`"+result+"`") {
				t.Errorf("the result %q is not in docs/rupd.md: %s", result, row)
			}
			return err
		}))
	}
}

func officeID(o *office) string {
	reg, _ := o.registered("robot@x.example")
	return reg.ID
}

// A registration that is not confirmed within two days ends. One that was confirmed stays, however
// old it is.
func TestConfirmTooLate(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := &confirmations{db: o.db, site: "http://www.example.org/", link: "http://www.example.org/rup/confirm", wake: func() {}}
	old := time.Now().Add(-3 * 24 * time.Hour)
	o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily, Pending: true, Registered: old, Asked: old})
	o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily, Registered: old})
	// This robot has just changed its address.
	o.register(rup.Registration{ID: "C", Email: "c@x.example", Latency: daily, Pending: true, Registered: old, Asked: time.Now()})
	reg, _ := o.registered("c@x.example")
	o.must(c.ask(t.Context(), reg))
	o.must(o.m.expire())
	for email, want := range map[string]bool{"a@x.example": false, "b@x.example": true, "c@x.example": true} {
		if _, ok := o.registered(email); ok != want {
			t.Errorf("%s registered: %v, want %v", email, ok, want)
		}
	}
}

// The log is kept for the slowest robot, so no robot may be slower than a year.
func TestLatencyTooLong(t *testing.T) {
	t.Parallel()
	r := newSite(t, nil)
	if code, body := r.ask("/rup", "Action", "Register", "RobotEmail", "a@x.example", "Latency", "367-day"); code != http.StatusBadRequest || !strings.Contains(body, "Latency: it is longer than 366 days") {
		t.Errorf("367-day: %d %s", code, body)
	}
	if code, body := r.ask("/rup", "Action", "Register", "RobotEmail", "a@x.example", "Latency", "366-day"); code != http.StatusOK {
		t.Errorf("366-day: %d %s", code, body)
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	client := clientOf([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")})
	for _, c := range []struct {
		remote, want string
		forwarded    []string
	}{
		{"192.0.2.1:5", "192.0.2.1", nil},
		// The request does not come from one of our proxies: anybody can write this header.
		{"192.0.2.1:5", "192.0.2.1", []string{"198.51.100.1"}},
		{"127.0.0.1:5", "198.51.100.1", []string{"198.51.100.1"}},
		{"127.0.0.1:5", "198.51.100.1", []string{"203.0.113.9, 198.51.100.1"}},
		{"127.0.0.1:5", "198.51.100.1", []string{"203.0.113.9", "198.51.100.1, 10.1.2.3"}},
		{"127.0.0.1:5", "127.0.0.1", nil},
		{"127.0.0.1:5", "127.0.0.1", []string{"nonsense"}},
		{"127.0.0.1:5", "10.1.2.3", []string{"nonsense, 10.1.2.3"}},
		{"127.0.0.1:5", "2001:db8::1", []string{" 2001:db8::1 "}},
		{"[::ffff:127.0.0.1]:5", "198.51.100.1", []string{"::ffff:198.51.100.1"}},
	} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.RemoteAddr = c.remote
		req.Header["X-Forwarded-For"] = c.forwarded
		if got := client(req); got.String() != c.want {
			t.Errorf("%s, %q: %v, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	if req.RemoteAddr = "@"; client(req).IsValid() {
		t.Error("a client without an address has one")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	good := func() Options {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "root"), 0o755); err != nil {
			t.Fatal(err)
		}
		return Options{
			Root: filepath.Join(dir, "root"), Base: "https://www.site.example/", Dir: filepath.Join(dir, "state"), Serve: "127.0.0.1:0",
			Info: rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Week}}, Mail: MailOptions{Relay: relay.addr, From: "rup@site.example", TLS: "none"},
		}
	}
	var out strings.Builder
	if err := Check(t.Context(), good(), &out); err != nil || !strings.Contains(out.String(), "    RUP-CGI: /rup\n") || !strings.Contains(out.String(), "no problems found") {
		t.Errorf("%v, %s", err, out.String())
	}
	for want, change := range map[string]func(*Options){
		"/var/www/html":         func(o *Options) { o.Root = "" },
		"no such file":          func(o *Options) { o.Root += "x" },
		"https://www.example":   func(o *Options) { o.Base = "www.site.example" },
		"host is not one":       func(o *Options) { o.Base = "https://ü..example" },
		"in the document root":  func(o *Options) { o.Dir = filepath.Join(o.Root, "state") },
		"/var/lib/rupd":         func(o *Options) { o.Dir = "" },
		"use no other host":     func(o *Options) { o.Info.CGI = "http://other.example/rup" },
		"a path of its own":     func(o *Options) { o.Info.CGI = "/rupinfo.txt" },
		"or a URL on its host":  func(o *Options) { o.Info.CGI = "" },
		"day, week or month":    func(o *Options) { o.Info.Latency = []rup.Unit{"hour"} },
		"regular expression":    func(o *Options) { o.Info.Exclude = []string{"("} },
		"host's robots.txt":     func(o *Options) { o.Base += "~user/" },
		"starttls, tls or none": func(o *Options) { o.Mail.TLS = "ssl" },
		"STARTTLS":              func(o *Options) { o.Mail.TLS = "" },
		"mail.example.org:587":  func(o *Options) { o.Mail.Relay = "localhost" },
		"mail-from":             func(o *Options) { o.Mail.From = "x" },
		"without a slash":       func(o *Options) { o.Index = "a/b" },
		"must match one name":   func(o *Options) { o.Ignore = []string{"["} },
		"Allow: /rup":           func(o *Options) { write(t, o.Root, "User-agent: *\nDisallow: /\nAllow: /rupinfo.txt") },
		"does not allow robots to request /rupinfo.txt": func(o *Options) { write(t, o.Root, "User-agent: *\nDisallow: /rupi") },
	} {
		o := good()
		change(&o)
		if err := Check(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	o := good()
	o.Info.CGI = "http://www.site.example:7870/rup" // another origin, with its own robots.txt
	write(t, o.Root, "User-agent: *\nDisallow: /rup\nAllow: /rupinfo.txt")
	if err := Check(t.Context(), o, io.Discard); err != nil {
		t.Errorf("a CGI on another port: %v", err)
	}
	// A regression: check found no problem with such a name, and then rupd did not start.
	o = good()
	o.Base = "https://Bücher.example:8443"
	p, err := o.check()
	if err != nil || p.base.String() != "https://xn--bcher-kva.example:8443/" {
		t.Errorf("a base with an IDN: %v", err)
	} else if s, err := New(o); err != nil {
		t.Errorf("a site with an IDN: %v", err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
	o = good()
	o.Base += "~user/"
	o.Robots = filepath.Join(o.Root, "robots.txt")
	if err := Check(t.Context(), o, io.Discard); err != nil {
		t.Errorf("a base with a path: %v", err)
	}
}

func write(t *testing.T, root, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, "robots.txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Nothing that a robot sends is logged, in particular no key.
func TestNoKeyInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newSite(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, body := r.ask("/rup", "Action", "Register", "RobotEmail", "robot@x.example")
	key := regexp.MustCompile(`RegistrationKey: (\S+)`).FindStringSubmatch(body)[1]
	for _, action := range []string{"GetSequenceNumber", "ModifyPreferences", "Nonsense", "Unregister", "Unregister"} {
		r.ask("/rup", "Action", action, "RegistrationKey", key, "RegisteredRobotEmail", "robot@x.example")
	}
	r.stop()
	if text := log.String(); strings.Contains(text, key) || strings.Contains(text, "robot@") {
		t.Errorf("the log: %s", text)
	}
	raw, err := os.ReadFile(filepath.Join(r.o.Dir, "rupd.db"))
	if err != nil || bytes.Contains(raw, []byte(key)) {
		t.Errorf("the key is in the database, %v", err)
	}
}
