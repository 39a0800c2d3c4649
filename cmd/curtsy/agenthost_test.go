package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/agenthost/robottest"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/internal/testaid"
)

// agentSite is a site with an agenthost, as processes.
type agentSite struct {
	t               *testing.T
	dir, config     string
	address, stderr string
	host            *exec.Cmd
}

func newAgentSite(t *testing.T) *agentSite {
	t.Helper()
	s := &agentSite{t: t, dir: t.TempDir()}
	s.config, s.stderr = filepath.Join(s.dir, "agenthost.yaml"), filepath.Join(s.dir, "stderr")
	for name, text := range map[string]string{
		"root/robots.txt": "User-agent: *\nDisallow: /docs/closed\n", "root/docs/index.html": "index", "root/docs/a b.html": "a b", "root/docs/closed.html": "closed", "root/other.html": "other",
	} {
		name = filepath.Join(s.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.address = "atp://" + port
	entry := curtsy(t, 0, "agenthost", "key", s.file("robot.pem"))
	if again := curtsy(t, 0, "agenthost", "key", s.file("robot.pem")); again != entry {
		t.Errorf("the key of an existing file: %q, want %q", again, entry)
	}
	whole := curtsy(t, 0, "agenthost", "key", s.file("robot.pem"), "--name", "example", "--subtree", "/docs/", "--entry", s.file("entry"))
	if want := strings.NewReplacer("NAME", "example", "/PATH/", "/docs/").Replace(entry); whole != want {
		t.Errorf("an entry with a name and a path: %q, want %q", whole, want)
	}
	settings := "root: " + s.file("root") + "\nbase: https://www.example.org/\ndir: " + s.file("state") + "\nserve: " + port + "\naddress: " + s.address + "\nlog-format: text\nallow-robot: [\"@" + s.file("entry") + "\"]\n"
	if err := os.WriteFile(s.config, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func (s *agentSite) file(name string) string { return filepath.Join(s.dir, name) }

func (s *agentSite) start() {
	s.t.Helper()
	stderr, err := os.Create(s.stderr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer stderr.Close()
	s.host = exec.Command("curtsy", "agenthost", "--config", s.config)
	s.host.Stderr = stderr
	if err := s.host.Start(); err != nil {
		s.t.Fatal(err)
	}
	testaid.Until(s.t, "agenthost is at work", func() bool { return strings.Contains(s.log(), "at work") }, s.log)
}

func (s *agentSite) log() string {
	text, err := os.ReadFile(s.stderr)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// kill kills the host, if it runs.
func (s *agentSite) kill() {
	if s.host != nil {
		_ = s.host.Process.Kill() // it may have ended
		_ = s.host.Wait()         // its exit code is that of the kill
	}
	s.host = nil
}

// dispatch sends a robot and returns its Agent-Id.
func (s *agentSite) dispatch(module []byte, more ...string) string {
	s.t.Helper()
	if err := os.WriteFile(s.file("robot.wasm"), module, 0o600); err != nil {
		s.t.Fatal(err)
	}
	args := append([]string{"atp", "dispatch", "--key", s.file("robot.pem"), "--module", s.file("robot.wasm"), "--site", "https://www.example.org/x", "--subtree", "/docs/", "--token", "ExampleBot"}, more...)
	return strings.TrimSpace(curtsy(s.t, 0, append(args, s.address)...))
}

// TestAgenthost: a site and the operator of a robot, as they type it. The robot is the example of
// the documentation.
func TestAgenthost(t *testing.T) {
	page, err := os.ReadFile("../../docs/mobile-robots.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example in Go")
	}
	module := robottest.Source(t, string(example[1]))
	s := newAgentSite(t)
	if out := curtsy(t, 0, "agenthost", "check", "--config", s.config); !strings.Contains(out, "Mobile-agent-server: / "+s.address) || !strings.Contains(out, "sees 2 documents") {
		t.Errorf("check: %s", out)
	}
	if out := curtsy(t, 0, "agenthost", "runs", "--config", s.config); !strings.Contains(out, "no robot") {
		t.Errorf("runs: %s", out)
	}
	s.start()
	id := s.dispatch(module)
	out := curtsy(t, 0, "atp", "fetch", s.address, id)
	want := "(?s)^/docs/\nStatus: 200\nContent-Type: text/html\nContent-Length: 5\nLast-Modified: [^\n]*\n\nindex\n/docs/a%20b.html\nStatus: 200\n.*\n\na b\n$"
	if !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("fetch: %q", out)
	}
	var state mobile.Summary
	if err := json.Unmarshal([]byte(curtsy(t, 0, "atp", "message", s.address, id)), &state); err != nil || state.Outcome != mobile.Done || state.Documents != 2 {
		t.Errorf("message: %+v, %v", state, err)
	}
	// Stored, and continued where a file ends.
	curtsy(t, 0, "atp", "fetch", "--out", s.file("whole"), s.address, id)
	whole, err := os.ReadFile(s.file("whole"))
	if err != nil || len(whole) == 0 {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file("part"), whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	curtsy(t, 0, "atp", "fetch", "--out", s.file("part"), s.address, id)
	if part, err := os.ReadFile(s.file("part")); err != nil || !slices.Equal(part, whole) {
		t.Errorf("%d octets were continued to %d of %d, %v", len(whole)/2, len(part), len(whole), err)
	}
	// The module is known and not sent again; a robot that fails is an exit code.
	if id := s.dispatch(module); id == "" {
		t.Error("a known module was not accepted")
	}
	trap := s.dispatch(robottest.Module{Start: robottest.Unreachable}.Octets())
	curtsy(t, 1, "atp", "fetch", s.address, trap)
	// The log of runs is written after the results.
	testaid.Until(t, "the log of runs has the one that failed", func() bool {
		out = curtsy(t, 0, "agenthost", "runs", "--config", s.config)
		return strings.Contains(out, "failed") && strings.Contains(out, "example")
	}, func() string { return out })
}

// TestAtpPageReader: without a module, the page reader is sent.
func TestAtpPageReader(t *testing.T) {
	s := newAgentSite(t)
	for name, text := range map[string]string{"root/docs/secret.html": "<meta name=robots content=noindex>secret <a href=x>", "to/docs/index.html": "older"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(s.file(name)), 0o755), os.WriteFile(s.file(name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	args := []string{"atp", "dispatch", "--key", s.file("robot.pem"), "--site", "https://www.example.org", "--subtree", "/docs/", "--token", "ExampleBot", s.address}
	id := strings.TrimSpace(curtsy(t, 0, args...))
	lines := "document\t/docs/\ttext/html, 5 bytes\ndocument\t/docs/a%20b.html\ttext/html, 3 bytes\nnoindex\t/docs/secret.html\ttext/html\n"
	if out := curtsy(t, 0, "atp", "fetch", "--to", s.file("to"), s.address, id); out != lines {
		t.Errorf("fetch: %q, want %q", out, lines)
	}
	for name, want := range map[string]string{"to/docs/index.html": "index", "to/docs/a%20b.html": "a b"} {
		if text, err := os.ReadFile(s.file(name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if entries, err := os.ReadDir(s.file("to/docs")); err != nil || len(entries) != 2 {
		t.Errorf("%d documents were stored, %v", len(entries), err)
	}
	// What cannot be stored is an exit code, and the others are stored.
	if err := errors.Join(os.Remove(s.file("to/docs/a%20b.html")), os.Mkdir(s.file("to/docs/a%20b.html"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if out := curtsy(t, 1, "atp", "fetch", "--to", s.file("to"), s.address, id); out != lines {
		t.Errorf("fetch: %q", out)
	}
	curtsy(t, 2, "atp", "fetch", "--to", s.file("to"), "--out", s.file("stream"), s.address, id)

	id = strings.TrimSpace(curtsy(t, 0, append(args, "--want", "facts")...))
	facts := json.NewDecoder(strings.NewReader(curtsy(t, 0, "atp", "fetch", s.address, id)))
	for _, want := range []reading.PageFacts{{Path: "/docs/", Text: "index"}, {Path: "/docs/a%20b.html", Text: "a b"}, {Path: "/docs/secret.html", Tags: []string{"noindex"}}} {
		var f reading.PageFacts
		if err := facts.Decode(&f); err != nil || f.Path != want.Path || f.Text != want.Text || !slices.Equal(f.Tags, want.Tags) {
			t.Errorf("%+v, %v, want %+v", f, err, want)
		}
	}
	for _, more := range [][]string{{"--want", "all"}, {"--want", "pages", "--input", s.config}} {
		curtsy(t, 2, append(args, more...)...)
	}
}

// TestAgenthostServer: documents, and what their header lines say, come from the site's own server.
func TestAgenthostServer(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", "noindex")
		switch {
		case r.Host != "www.example.org" || r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/sitemap.xml":
			_, _ = io.WriteString(w, "https://www.example.org/docs/page?a=1\nhttps://www.example.org/\n")
		default:
			_, _ = io.WriteString(w, "the page")
		}
	}))
	t.Cleanup(web.Close)
	s := newAgentSite(t)
	settings, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(settings), "root: "+s.file("root"), "server: "+web.URL, 1)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := curtsy(t, 0, "agenthost", "check", "--config", s.config); !strings.Contains(out, web.URL) || !strings.Contains(out, "sees 1 documents") {
		t.Errorf("check: %s", out)
	}
	s.start()
	if err := os.WriteFile(s.file("input"), []byte("list 1000\nopen /docs/page?a=1\nopen /docs/page\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := curtsy(t, 0, "atp", "fetch", s.address, s.dispatch(robottest.Robot(t), "--input", s.file("input")))
	if !strings.HasPrefix(out, "/docs/page?a=1\nend of list 0\n") || !strings.Contains(out, "\nX-Robots-Tag: noindex\n\nthe page\n") || !strings.HasSuffix(out, "/docs/page -3\n") {
		t.Errorf("fetch: %q", out)
	}
}

// TestAgenthostKilled: a robot ends with its host, which reports it when it is started again.
func TestAgenthostKilled(t *testing.T) {
	s := newAgentSite(t)
	s.start()
	id := s.dispatch(robottest.Module{Start: robottest.Loop()}.Octets())
	var child int
	testaid.Until(t, "the robot has a process", func() bool {
		child = childOf(t, s.host.Process.Pid)
		return child != 0
	}, s.log)
	s.kill()
	testaid.Until(t, "the process of the robot has ended", func() bool { return errors.Is(syscall.Kill(child, 0), syscall.ESRCH) })
	s.start()
	curtsy(t, 1, "atp", "fetch", s.address, id)
	var state mobile.Summary
	if err := json.Unmarshal([]byte(curtsy(t, 0, "atp", "retract", s.address, id)), &state); err != nil || state.Outcome != mobile.Interrupted {
		t.Errorf("%+v, %v", state, err)
	}
	// Stopped, it exits with 0.
	if err := s.host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.host.Wait(); err != nil {
		t.Errorf("stopped: %v\n%s", err, s.log())
	}
	s.host = nil
}

// TestAgenthostTLS: with a certificate, the host is at atps://.
func TestAgenthostTLS(t *testing.T) {
	s := newAgentSite(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(s.file(name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(settings), "address: atp:", "tls-cert: "+s.file("cert.pem")+"\ntls-key: "+s.file("key.pem")+"\naddress: atps:", 1)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	for trusted, want := range map[string]string{s.file("cert.pem"): "404 there is no such run", os.DevNull: "certificate"} {
		cmd := exec.Command("curtsy", "atp", "message", strings.Replace(s.address, "atp:", "atps:", 1), strings.Repeat("0", 32))
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+trusted, "SSL_CERT_DIR="+s.file("none"))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("with the certificates in %s: %v, %s", trusted, err, out)
		}
	}
}

// childOf returns a child of a process, or 0.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); len(f) > 1 && f[1] == strconv.Itoa(pid) && f[0] != "Z" {
			n, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

func TestAtpErrors(t *testing.T) {
	s := newAgentSite(t)
	if err := os.WriteFile(s.file("robot.wasm"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("0", 32)
	all := []string{"--key", s.file("robot.pem"), "--module", s.file("robot.wasm"), "--site", "https://www.example.org", "--token", "ExampleBot"}
	for _, c := range []struct {
		exit int
		args []string
	}{
		{2, []string{"dispatch"}}, {2, []string{"dispatch", s.address}}, {2, append([]string{"dispatch", "www.example.org"}, all...)},
		{2, append([]string{"dispatch", s.address, "--subtree", "docs"}, all...)}, {2, append([]string{"dispatch", s.address, "--valid", "48h"}, all...)},
		{1, append([]string{"dispatch", s.address}, all...)}, // nobody listens
		{1, append([]string{"dispatch", s.address, "--input", s.file("none")}, all...)},
		{2, []string{"fetch", s.address}}, {2, []string{"fetch", s.address, "no id"}}, {2, []string{"message", "http://www.example.org", id}}, {1, []string{"retract", s.address, id}},
		{1, []string{"fetch", "--out", s.file("none/none"), s.address, id}},
	} {
		curtsy(t, c.exit, append([]string{"atp"}, c.args...)...)
	}
	for _, args := range [][]string{{"key"}, {"check"}, {"check", "--config", s.config, "--address", "atps://www.example.org"}, {"start"}} {
		curtsy(t, 2, append([]string{"agenthost"}, args...)...)
	}
}
