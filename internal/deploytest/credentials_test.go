//go:build external

package deploytest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// What may be only in the file of credentials and nowhere else.
var (
	siteSecrets = []string{"hunter2-basic", "hunter3-cookie", "hunter4-key", "hunter5-bearer", "hunter6-proxy"}
	// As they are sent.
	secretForms = []string{
		base64.StdEncoding.EncodeToString([]byte("curtsy:hunter2-basic")), base64.StdEncoding.EncodeToString([]byte("curtsy:hunter6-proxy")),
		base64.StdEncoding.EncodeToString([]byte("hunter2-basic")), base64.StdEncoding.EncodeToString([]byte("hunter5-bearer")),
	}
)

// credentialSites is an nginx with two sites that need credentials, one with passwords and one with
// certificates, and a third one without, to which both have links.
type credentialSites struct {
	t    *testing.T
	dir  string
	ca   *wiretest.CA
	args []string // with which a crawl reaches them
}

func (s *credentialSites) write(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func startCredentialSites(t *testing.T) *credentialSites {
	t.Helper()
	s := &credentialSites{t: t, dir: t.TempDir(), ca: wiretest.NewCA(t)}
	cert, key := s.ca.Issue(time.Now().Add(time.Hour), "wiki.test", "docs.test")
	s.write("server.pem", string(cert))
	s.write("server-key.pem", string(key))
	s.write("ca.pem", string(s.ca.PEM))
	cert, key = s.ca.Issue(time.Now().Add(time.Hour), "curtsy")
	s.write("curtsy.pem", string(cert))
	s.write("curtsy-key.pem", string(key))
	s.write("users", "curtsy:{PLAIN}hunter2-basic\n")
	s.write("credentials.yaml", `
sites:
  https://wiki.test:
    basic: {user: curtsy, password: hunter2-basic}
    cookies: {session: hunter3-cookie}
    headers: {X-Api-Key: hunter4-key}
    ca: ca.pem
  https://docs.test: {cert: curtsy.pem, key: curtsy-key.pem, ca: ca.pem}
  https://unused.test: {bearer: hunter5-bearer}
`)
	for _, site := range []string{"wiki", "docs"} {
		s.write("root/"+site+"/robots.txt", "User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\n")
		s.write("root/"+site+"/index.html", `<title>the `+site+`</title><a href="a.html">a</a> <a href="private.html">p</a> <a href="away">away</a> <a href="http://open.test/">open</a>`)
		s.write("root/"+site+"/a.html", `<title>quiet harbour</title><a href="b.html">b</a><script type="application/ld+json">{"@context": "https://schema.org", "@type": "Dataset",
			"name": "rain", "distribution": {"@type": "DataDownload", "contentUrl": "https://`+site+`.test/rain.csv", "encodingFormat": "text/csv"}}</script>`)
		s.write("root/"+site+"/rain.csv", "day,mm\n1,3\n")
		s.write("root/"+site+"/b.html", `<title>the end</title>`)
		s.write("root/"+site+"/private.html", "no")
	}
	s.write("root/open/index.html", "<title>for everybody</title>")
	who := ""
	if os.Geteuid() == 0 {
		who = "user root;" // only root can read the directories of the test
	}
	wiki, docs, open := freePort(t), freePort(t), freePort(t)
	s.write("nginx.conf", fmt.Sprintf(`%[1]s daemon off; pid %[2]s/nginx.pid; error_log stderr; events {}
http {
  log_format shown '$server_port $host $request_uri $status [$http_authorization] [$http_cookie] [$http_x_api_key]';
  access_log %[2]s/access.log shown;
  client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
  ssl_certificate %[2]s/server.pem; ssl_certificate_key %[2]s/server-key.pem;
  types { text/html html; text/plain txt; }
  index index.html;
  server {
    listen 127.0.0.1:%[3]d ssl; root %[2]s/root/wiki;
    auth_basic staff; auth_basic_user_file %[2]s/users;
    location /away { return 302 http://open.test/from-wiki; }
  }
  server {
    listen 127.0.0.1:%[4]d ssl; root %[2]s/root/docs;
    ssl_client_certificate %[2]s/ca.pem; ssl_verify_client on;
    location /away { return 302 http://open.test/from-docs; }
  }
  server { listen 127.0.0.1:%[5]d; root %[2]s/root/open; }
}
`, who, s.dir, wiki, docs, open))
	daemon(t, "nginx", "-p", s.dir, "-c", filepath.Join(s.dir, "nginx.conf"))
	for _, port := range []int{wiki, docs, open} {
		await(t, fmt.Sprintf("127.0.0.1:%d", port))
	}
	s.args = []string{"--allow-private", "--delay", "10ms", "--hold-max", "1s", "--scope", "any", "--listen", "off", "--sitemaps=false",
		"--resolve", fmt.Sprintf("wiki.test=127.0.0.1:%d", wiki), "--resolve", fmt.Sprintf("docs.test=127.0.0.1:%d", docs),
		"--resolve", fmt.Sprintf("open.test=127.0.0.1:%d", open)}
	return s
}

// crawl crawls and keeps everything that can be kept: its log is in a file next to its data.
func (s *credentialSites) crawl(dir string, more ...string) (log string, err error) {
	s.t.Helper()
	args := append([]string{"crawl", "--dir", filepath.Join(dir, "data"), "--warc", filepath.Join(dir, "warc"), "--log-level", "debug", "--log-format", "json",
		"--progress", "json"}, s.args...)
	cmd := exec.CommandContext(s.t.Context(), program(s.t, "curtsy"), append(args, more...)...)
	cmd.Env = environ()
	out, err := cmd.CombinedOutput()
	if failed := os.WriteFile(filepath.Join(dir, "crawl.log"), out, 0o600); failed != nil {
		s.t.Fatal(failed)
	}
	return string(out), err
}

// TestExternalCredentials crawls the sites of nginx that need credentials, and checks that each
// site got only its own credentials and that they are written nowhere.
func TestExternalCredentials(t *testing.T) {
	t.Parallel()
	s := startCredentialSites(t)
	dir := t.TempDir()
	if log, err := s.crawl(dir, "--credentials", filepath.Join(s.dir, "credentials.yaml"), "https://wiki.test/", "https://docs.test/"); err != nil {
		t.Fatalf("%v\n%s", err, tail([]byte(log)))
	}
	data := filepath.Join(dir, "data")
	pages := storedPages(t, "--dir", data)
	for _, u := range []string{"https://wiki.test/", "https://wiki.test/a.html", "https://wiki.test/b.html", "https://docs.test/", "https://docs.test/a.html",
		"https://docs.test/b.html", "http://open.test/"} {
		if pages[u] == "" {
			t.Errorf("%s is not stored", u)
		}
	}
	if len(pages) != 7 {
		t.Errorf("%d pages: %v", len(pages), pages)
	}

	// What each site received, according to nginx.
	access, err := os.ReadFile(filepath.Join(s.dir, "access.log"))
	if err != nil {
		t.Fatal(err)
	}
	basic := secretForms[0]
	requests := map[string]int{}
	for line := range strings.Lines(string(access)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 5)
		host, want := f[1], "[-] [-] [-]"
		if host == "wiki.test" {
			want = "[Basic " + basic + "] [session=hunter3-cookie] [hunter4-key]"
		}
		if requests[host]++; f[4] != want {
			t.Errorf("%s was shown %s", host, f[4])
		}
		if f[3] != "200" && f[3] != "302" && !strings.Contains(f[2], ".txt") && f[2] != "/data.json" && host != "open.test" {
			t.Errorf("%s", line)
		}
		if strings.Contains(f[2], "private") {
			t.Errorf("against robots.txt: %s", line)
		}
	}
	if requests["wiki.test"] < 5 || requests["docs.test"] < 5 || requests["open.test"] < 3 || !strings.Contains(string(access), "/from-wiki") {
		t.Errorf("%v", requests)
	}

	// Everything that can be exported, in addition to the files of the crawl.
	for name, args := range map[string][]string{
		"pages.jsonl": {"export", "pages", "--format", "jsonl"}, "links.jsonl": {"export", "links", "--format", "jsonl"},
		"pages.json": {"pages", "--json"}, "hosts.json": {"hosts", "--json"}, "timeline.json": {"timeline", "wiki.test", "--json"},
		"explain.json": {"explain", "https://wiki.test/a.html", "--json"}, "status.json": {"status", "--json"}, "log.json": {"log", "--json"},
	} {
		out := run(t, program(t, "curtsy"), append(args, "--dir", data)...)
		if err := os.WriteFile(filepath.Join(dir, name), out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Files of datasets on both sites that need credentials.
	get := []string{"datasets", "get", "--data", data, "--all", "--log-level", "debug", "--dir"}
	run(t, program(t, "curtsy"), append(get, filepath.Join(dir, "files"), "--credentials", filepath.Join(s.dir, "credentials.yaml"))...)
	if files, err := filepath.Glob(filepath.Join(dir, "files", "*", "rain.csv")); len(files) != 2 {
		t.Errorf("files of datasets: %v, %v", files, err)
	}
	if _, err := try(program(t, "fetcher"), "--nats", "nats://127.0.0.1:1", "--credentials", filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "the file does not exist") {
		t.Errorf("a fetcher without its file: %v", err)
	}
	key, err := os.ReadFile(filepath.Join(s.dir, "curtsy-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := append(append([]string{strings.Split(string(key), "\n")[1]}, siteSecrets...), secretForms...)
	found, files := grep(t, dir, secrets)
	if len(found) > 0 || files < 12 {
		t.Errorf("in %d files: %v", files, found)
	}
	// The search covers what it should: the log, the archive, the state, and the store of the
	// broker.
	found, _ = grep(t, dir, []string{"wiki.test"})
	for _, part := range []string{"crawl.log", "warc.gz", "frontier-", "pages-", "nats/", "pages.jsonl"} {
		if !strings.Contains(strings.Join(found, "\n"), part) {
			t.Errorf("%s was not searched: %v", part, found)
		}
	}
	archived, _ := grep(t, filepath.Join(dir, "warc"), []string{"GET /a.html HTTP/1.1"})
	if len(archived) == 0 {
		t.Error("the archive has no request records")
	}

	// Without credentials, the reason is reported, and what to type.
	bare := t.TempDir()
	log, err := s.crawl(bare, "https://wiki.test/")
	if err == nil {
		t.Errorf("a crawl of nothing ends well: %s", tail([]byte(log)))
	}
	why := run(t, program(t, "curtsy"), "explain", "--dir", filepath.Join(bare, "data"), "https://wiki.test/")
	if !strings.Contains(string(why), "from an unknown authority; if you trust it, add the authority's file as ca: below https://wiki.test in the file for --credentials") {
		t.Errorf("explain returned:\n%s\n%s", why, tail([]byte(log)))
	}
	s.write("ca-only.yaml", "sites:\n  https://wiki.test: {ca: ca.pem}\n  https://docs.test: {ca: ca.pem}\n")
	bare = t.TempDir()
	log, err = s.crawl(bare, "--credentials", filepath.Join(s.dir, "ca-only.yaml"), "https://wiki.test/", "https://docs.test/")
	if err == nil {
		t.Errorf("a crawl of nothing ends well: %s", tail([]byte(log)))
	}
	for u, want := range map[string]string{"https://wiki.test/": "refuses the credentials", "https://docs.test/": "asked for a client certificate: add cert: and key:"} {
		why := run(t, program(t, "curtsy"), "explain", "--dir", filepath.Join(bare, "data"), u)
		if !strings.Contains(string(why), want) {
			t.Errorf("explain of %s:\n%s", u, why)
		}
	}
}

// grep looks for words in all files below a folder, also in compressed ones, and returns which word
// is in which file, and how many files there are.
func grep(t *testing.T, dir string, words []string) (found []string, files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		texts := [][]byte{body}
		if strings.HasSuffix(path, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			text, err := io.ReadAll(z)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			texts = append(texts, text)
		}
		for _, w := range words {
			for _, text := range texts {
				if bytes.Contains(text, []byte(w)) {
					found = append(found, w+" in "+path)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, files
}

// TestExternalSmokeProxy crawls the simulated web through tinyproxy, which requires a password. The
// web sees no violation, all connections come from the proxy, and the password is written nowhere.
func TestExternalSmokeProxy(t *testing.T) {
	t.Parallel()
	dir, conf := t.TempDir(), t.TempDir()
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	cfg := web(log)
	cfg.Hosts, cfg.PagesPerHost = 12, 4
	srv, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	port := freePort(t)
	write := func(name, text string) string {
		name = filepath.Join(conf, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	// Without a ConnectPort line it connects to all ports.
	proxyConf := write("tinyproxy.conf", fmt.Sprintf("Port %d\nListen 127.0.0.1\nTimeout 60\nMaxClients 200\nAllow 127.0.0.1\nBasicAuth curtsy hunter6-proxy\nLogFile \"%s/proxy.log\"\nLogLevel Connect\n", port, conf))
	daemon(t, "tinyproxy", "-d", "-c", proxyConf)
	await(t, fmt.Sprintf("127.0.0.1:%d", port))

	args := []string{"crawl", "--dir", filepath.Join(dir, "data"), "--warc", filepath.Join(dir, "warc"), "--listen", "off", "--log-level", "debug", "--log-format", "json",
		"--allow-private", "--delay", delay.String(), "--contact", contact, "--hold-max", "2s", "--resolve", srv.Resolve(),
		"--proxy", fmt.Sprintf("http://127.0.0.1:%d", port), "--credentials", write("credentials.yaml", "proxy: {user: curtsy, password: hunter6-proxy}\n"), srv.Seeds()[0]}
	cmd := exec.CommandContext(t.Context(), program(t, "curtsy"), args...)
	cmd.Env = environ()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(out))
	}
	took := time.Since(began)
	if err := os.WriteFile(filepath.Join(dir, "crawl.log"), out, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	bad, err := requestlog.CheckFile(log, requestlog.CheckOptions{Delay: requestlog.Every(delay), Token: "curtsy"})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range bad[:min(len(bad), 10)] {
		t.Error(v)
	}
	requests, err := requestlog.Read(log)
	if err != nil {
		t.Fatal(err)
	}
	pages := storedPages(t, "--dir", filepath.Join(dir, "data"))
	if len(pages) < 50 || len(requests) < len(pages) {
		t.Errorf("%d pages by %d requests", len(pages), len(requests))
	}
	text, err := os.ReadFile(filepath.Join(conf, "proxy.log"))
	if err != nil {
		t.Fatal(err)
	}
	connected := strings.Count(string(text), fmt.Sprintf("CONNECT 127.0.0.1:%d HTTP/1.1", srv.Port()))
	if connected < 12 || strings.Contains(string(text), "sim.test") {
		t.Errorf("%d connections by the proxy:\n%s", connected, tail(text))
	}
	if found, files := grep(t, dir, []string{"hunter6-proxy", secretForms[1]}); len(found) > 0 || files < 10 {
		t.Errorf("in %d files: %v", files, found)
	}
	var st struct{ Stored int }
	if err := json.Unmarshal(run(t, program(t, "curtsy"), "status", "--json", "--dir", filepath.Join(dir, "data")), &st); err != nil || st.Stored != len(pages) {
		t.Errorf("%+v, %v", st, err)
	}
	t.Logf("%d pages by %d requests through %d connections in %v", len(pages), len(requests), connected, took.Round(time.Second/10))
}
