//go:build external

package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/emersion/go-smtp"
	bolt "go.etcd.io/bbolt"
)

// TestExternalRUPSite: nginx and rupd serve a document root, with the files of deploy; changes are
// answered to requests, and mailed through a real relay to a registered address, with the URL at
// which nginx serves them.
func TestExternalRUPSite(t *testing.T) {
	t.Parallel()
	mails := make(chan []byte, 100)
	s := startSite(t, startSink(t, mails), nil)
	if body := s.get("/rupinfo.txt"); !strings.Contains(body, "RUP-CGI: /rup\n") || !strings.Contains(body, "MaxQuerySpan: 30-day\n") {
		t.Fatalf("rupinfo.txt: %q", body)
	}
	key := s.ask("Action", "Register", "RobotEmail", "robot@crawler.example", "Latency", "2-day", "Exclude", "^/news/")
	key = regexp.MustCompile(`RegistrationKey: (\S+)`).FindStringSubmatch(key)[1]
	who := []string{"RegistrationKey", key, "RegisteredRobotEmail", "robot@crawler.example"}
	// The address gets a question first, and confirms at the page to which the mail leads.
	s.until("the question comes", func() bool { return len(mails) > 0 })
	asks, err := mail.ReadMessage(bytes.NewReader(<-mails))
	if err != nil {
		t.Fatal(err)
	}
	words, err := io.ReadAll(quotedprintable.NewReader(asks.Body))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`(?m)^RUP-Confirm: http://` + regexp.QuoteMeta(s.address) + `(/rup/confirm)\?(token=\w+)`).FindStringSubmatch(string(words))
	if link == nil || !strings.Contains(asks.Header.Get("List-Unsubscribe"), "http://"+s.address+"/rup/leave?token=") {
		t.Fatalf("the question: %v\n%s", asks.Header, words)
	}
	if code, body := s.fetch(http.MethodPost, link[1], link[2], ""); code != http.StatusOK {
		t.Fatalf("confirming: %d %s", code, body)
	}

	s.write("docs/first, steps.html", "2")
	s.write("docs/new/index.html", "1")
	s.write("private/x.html", "1")
	s.write("news/y.html", "1")
	if err := os.Remove(filepath.Join(s.root, "old.html")); err != nil {
		t.Fatal(err)
	}
	want := []string{"Change docs/first%2C%20steps.html", "Delete old.html", "New docs/new/"}
	var report *rup.Report
	s.until("the changes are in the index", func() bool {
		report = s.index(append(who, "Action", "GetIndex", "Span", "1-day")...)
		return len(report.Entries) == len(want)
	})
	s.same("GetIndex", report, want, 0)
	s.same("GetIndex without registration", s.index("Action", "GetIndex", "Span", "1-day"), append(want, "New news/y.html"), 0)

	// It is killed while files are added and removed, and finds all changes later. Then two days
	// pass, according to the registration.
	burst := append([]string{"New news/y.html"}, want...)
	for i := range 300 {
		if i == 150 {
			s.rupd.kill()
		}
		s.write(fmt.Sprintf("news/%d.html", i), "1")
		burst = append(burst, fmt.Sprintf("New news/%d.html", i))
		time.Sleep(time.Millisecond) // so that the first half does not come as one change
	}
	s.back(2 * 24 * time.Hour)
	s.startRupd()
	s.until("all changes are in the index", func() bool {
		code, _ := s.fetch(http.MethodGet, "/rupinfo.txt", "", "")
		return code == http.StatusOK && len(s.index("Action", "GetIndex", "Span", "1-day").Entries) == len(burst)
	})
	s.same("GetIndex after a kill", s.index("Action", "GetIndex", "Span", "1-day"), burst, 0)
	s.until("a mail comes", func() bool { return len(mails) > 0 })
	raw := <-mails
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if err != nil {
		t.Fatal(err)
	}
	report, err = rup.ParseReport(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	s.same("the mail", report, want, 1)
	for _, e := range report.Entries {
		u, _ := url.Parse(e.URL)
		if code, _ := s.fetch(http.MethodGet, u.EscapedPath(), "", ""); (code == http.StatusOK) == (e.Kind == rup.Delete) {
			t.Errorf("%s: nginx answers %d for %s", e.Kind, code, e.URL)
		}
	}
	if n := s.ask(append(who, "Action", "GetSequenceNumber")...); !strings.Contains(n, "\nSequenceNumber=1\n") {
		t.Errorf("GetSequenceNumber: %q", n)
	}
	s.ask(append(who, "Action", "Unregister")...)
	if code, _ := s.fetch(http.MethodPost, "/rup", form(append(who, "Action", "GetSequenceNumber")...), ""); code != http.StatusBadRequest {
		t.Errorf("after Unregister: %d", code)
	}
	// Requests are counted per address that nginx saw, not by the address of nginx.
	flood := func(from string) (code int) {
		for i := range 4 {
			code, _ = s.fetch(http.MethodPost, "/rup", form("Action", "Register", "RobotEmail", fmt.Sprintf("r%d%s@x.example", i, from)), from)
		}
		return code
	}
	if code := flood("127.0.0.2"); code != http.StatusServiceUnavailable {
		t.Errorf("the fourth Register of an address: %d", code)
	}
	if code, _ := s.fetch(http.MethodPost, "/rup", form("Action", "Register", "RobotEmail", "other@y.example"), "127.0.0.3"); code != http.StatusOK {
		t.Errorf("the first Register of another: %d", code)
	}
}

// site is nginx, rupd, and a relay.
type site struct {
	t       *testing.T
	dir     string
	root    string
	address string // of nginx
	config  string
	rupd    *process
	port    string // of rupd
}

// startSite starts them, with more pages; the relay forwards everything to sink.
func startSite(t *testing.T, sink string, pages map[string]string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.root = filepath.Join(s.dir, "root")
	s.write("index.html", "1")
	s.write("old.html", "1")
	s.write("docs/first, steps.html", "1")
	for name, text := range pages {
		s.write(name, text)
	}
	s.write("robots.txt", "User-agent: *\nDisallow: /private/\n")

	relay := startExim(t, sink)
	s.port = strconv.Itoa(freePort(t))
	s.address = "127.0.0.1:" + strconv.Itoa(freePort(t))
	s.config = filepath.Join(s.dir, "rupd.yaml")
	example := s.read("deploy/rupd.example.yaml")
	for key, value := range map[string]string{
		"root": s.root, "base": "http://" + s.address + "/", "dir": filepath.Join(s.dir, "state"), "settle": "50ms", "serve": "127.0.0.1:" + s.port,
		"registers-per-hour": "3", "queries-per-hour": "100000", "mail-from": "rup@site.example", "smtp": relay, "smtp-tls": "none", "listen": "off",
	} {
		example = replaceSetting(example, key, value)
	}
	s.put(s.config, example)
	if out := run(t, program(t, "rupd"), "check", "--config", s.config); !strings.Contains(string(out), "no problems found") {
		t.Fatalf("rupd check: %s", out)
	}
	s.startRupd()
	s.startNginx()
	s.until("rupd has read the root", func() bool {
		code, _ := s.fetch(http.MethodGet, "/rup?Action=GetIndex&Span=1-day", "", "127.0.0.9")
		return code == http.StatusOK
	})
	return s
}

func replaceSetting(config, key, value string) string {
	return regexp.MustCompile(`(?m)^`+key+`:.*$`).ReplaceAllString(config, key+": "+value)
}

func (s *site) startRupd() {
	s.t.Helper()
	s.rupd = start(s.t, "rupd", "rupd", "--config", s.config)
	await(s.t, "127.0.0.1:"+s.port)
}

func (s *site) startNginx() {
	s.t.Helper()
	include := filepath.Join(s.dir, "rupd-nginx.conf")
	s.put(include, strings.ReplaceAll(s.read("deploy/rupd-nginx.conf"), "7870", s.port))
	conf := filepath.Join(s.dir, "nginx.conf")
	who := ""
	if os.Geteuid() == 0 {
		who = "user root;" // only root can read the directories of the test
	}
	s.put(conf, fmt.Sprintf(`%s daemon off; pid %[2]s/nginx.pid; error_log stderr; events {}
http {
  access_log off; client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
  server { listen %[3]s; root %[4]s; index index.html; include %[5]s; }
}
`, who, s.dir, s.address, s.root, include))
	daemon(s.t, "nginx", "-p", s.dir, "-c", conf)
	await(s.t, s.address)
}

// startExim runs Debian's exim4 as a relay to the listener at sink.
func startExim(t *testing.T, sink string) string {
	t.Helper()
	// other users cannot read t.TempDir, and exim drops root
	dir, err := os.MkdirTemp("", "exim-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "mainlog"))
			lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(l string) bool { return strings.Contains(l, " queue run: ") })
			t.Logf("exim's log:\n%s", tail([]byte(strings.Join(lines, "\n"))))
		}
		os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if u, err := user.Lookup("Debian-exim"); os.Geteuid() == 0 && err == nil {
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	port, to := strconv.Itoa(freePort(t)), netip.MustParseAddrPort(sink)
	conf := filepath.Join(dir, "exim.conf")
	text := fmt.Sprintf(`primary_hostname = relay.test
spool_directory = %[1]s/spool
log_file_path = %[1]s/%%slog
pid_file_path = %[1]s/pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = %[2]s
tls_advertise_hosts =
host_lookup =
rfc1413_query_timeout = 0s
acl_smtp_rcpt = all
keep_environment =
begin acl
all:
  accept
begin routers
sink:
  driver = manualroute
  route_list = * %[3]s byname
  self = send
  transport = sink
begin transports
sink:
  driver = smtp
  port = %[4]d
  allow_localhost
begin retry
* * F,1h,1s
`, dir, port, to.Addr(), to.Port())
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	daemon(t, "exim4", "-C", conf, "-bdf", "-q1s")
	await(t, "127.0.0.1:"+port)
	return "127.0.0.1:" + port
}

// daemon runs a Debian program until the test ends. .ci/run makes sure that it is installed.
func daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name // not in the PATH of every user
	}
	var out bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (.ci/run installs what the tests need)", err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) // an error means that it has ended
		late := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); t.Failed() {
			t.Logf("%s: %v\n%s", name, err, tail(out.Bytes()))
		}
	})
}

// startSink receives mails and puts them into a channel.
func startSink(t *testing.T, mails chan []byte) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &sinkSession{mails}, nil }))
	srv.Domain = "crawler.example"
	ended := make(chan struct{})
	go func() { defer close(ended); srv.Serve(ln) }()
	t.Cleanup(func() { ln.Close(); srv.Close(); <-ended })
	return ln.Addr().String()
}

type sinkSession struct{ mails chan []byte }

func (s *sinkSession) Reset()                               {}
func (s *sinkSession) Logout() error                        { return nil }
func (s *sinkSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *sinkSession) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (s *sinkSession) Data(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err == nil {
		s.mails <- raw
	}
	return err
}

// await waits until somebody listens.
func await(t *testing.T, address string) {
	t.Helper()
	testaid.Until(t, "somebody listens on "+address, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (s *site) until(what string, reached func() bool) {
	s.t.Helper()
	testaid.Until(s.t, what, reached)
}

func (s *site) put(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) write(rel, text string) {
	s.t.Helper()
	name := filepath.Join(s.root, rel)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.put(name, text)
}

func (s *site) read(rel string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, rel))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func form(pairs ...string) string {
	v := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		v.Set(pair[0], pair[1])
	}
	return v.Encode()
}

// fetch requests a path from nginx, from one of the addresses of this machine.
func (s *site) fetch(method, path, body, from string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", rup.FormType)
	dialer := &net.Dialer{}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (s *site) get(path string) string {
	s.t.Helper()
	code, body := s.fetch(http.MethodGet, path, "", "")
	if code != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, code, body)
	}
	return body
}

func (s *site) ask(pairs ...string) string {
	s.t.Helper()
	code, body := s.fetch(http.MethodPost, "/rup", form(pairs...), "")
	if code != http.StatusOK {
		s.t.Fatalf("%v: %d %s", pairs[len(pairs)-2:], code, body)
	}
	return body
}

func (s *site) index(pairs ...string) *rup.Report {
	s.t.Helper()
	answer := &rup.Answer{Status: http.StatusOK, ContentType: "text/html", Body: []byte(s.ask(pairs...))}
	report, err := answer.Report()
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

func (s *site) same(what string, report *rup.Report, want []string, number int64) {
	s.t.Helper()
	var got []string
	for _, e := range report.Entries {
		got = append(got, string(e.Kind)+" "+strings.TrimPrefix(e.URL, "http://"+s.address+"/"))
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) || report.Sequence != number {
		s.t.Errorf("%s has number %d and %q, want %d and %q", what, report.Sequence, got, number, want)
	}
}

// back makes the last report to every robot older, in the file of rupd.
func (s *site) back(d time.Duration) {
	s.t.Helper()
	db, err := bolt.Open(filepath.Join(s.dir, "state", "rupd.db"), 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("progress"))
		id, text := b.Cursor().First()
		p := map[string]any{}
		if err := json.Unmarshal(text, &p); err != nil {
			return err
		}
		last, err := time.Parse(time.RFC3339Nano, p["Last"].(string))
		if err != nil {
			return err
		}
		p["Last"] = last.Add(-d)
		if text, err = json.Marshal(p); err != nil {
			return err
		}
		return b.Put(bytes.Clone(id), text)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
