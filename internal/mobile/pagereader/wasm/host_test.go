// Package main_test runs the module that is checked in on the real host of mobile robots.
package main_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/agenthost"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/pagereader"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// site is a site with a host of mobile robots, whose memory and processor time for robots are those
// of the default settings.
type site struct {
	t    *testing.T
	root string
	net  *simnet.Net
	key  *botauth.Key
}

const address = "192.0.2.1:10434"

func newSite(t *testing.T) *site {
	t.Helper()
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: t.TempDir(), net: simnet.New(simnet.Options{}), key: key}
	robot, err := agenthost.ParseRobot(agenthost.RobotLine("example", mobile.KeyText(key.Public()), "/docs/"))
	if err != nil {
		t.Fatal(err)
	}
	host, err := agenthost.New(agenthost.Options{
		Root: s.root, Base: "https://www.example.org/", Dir: filepath.Join(t.TempDir(), "state"), Index: "index.html", Extensions: agenthost.DefaultExtensions(),
		Address: "atp://www.example.org:10434", Allowed: []agenthost.Robot{robot}, Runs: 1, Memory: 256 << 20, CPU: 10 * time.Minute, Wall: time.Hour, Read: 4 << 30, Sent: 1 << 30, Document: 32 << 20,
		Keep: time.Hour, Results: 1 << 30, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- host.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, host.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// modified is when all files of the site were changed.
var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (s *site) write(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644), os.Chtimes(name, modified, modified)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) do(method atp.Method, header map[string]string, body []byte) (*atp.Response, []byte) {
	s.t.Helper()
	client := &atp.Client{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return s.net.Dial(ctx, network, address)
	}}
	request := &atp.Request{Method: method, Header: textproto.MIMEHeader{}}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if body != nil {
		request.Body, request.Length = bytes.NewReader(body), int64(len(body))
	}
	res, err := client.Do(s.t.Context(), atp.Address{Host: "www.example.org", Port: 10434}, request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Status/100 != 2 {
		s.t.Fatalf("%s: %d %s, %v", method, res.Status, res.Reason, err)
	}
	return res, text
}

// visit sends the page reader and returns its records, the log, and the end of the run.
func (s *site) visit(in reading.Input) (records, logged []string, end mobile.Summary) {
	s.t.Helper()
	input, err := in.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	now := time.Now().Unix()
	ticket := mobile.Ticket{
		Host: "atp://www.example.org:10434", Site: "https://www.example.org", Subtree: "/docs/", Token: in.Token, Module: pagereader.Digest(), Input: mobile.Digest(input), NotBefore: now, NotAfter: now + 60,
	}
	line, signature, err := ticket.Sign(s.key, rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	var body bytes.Buffer
	if err := mobile.WriteDispatch(&body, line, signature, input); err != nil {
		s.t.Fatal(err)
	}
	body.Write(pagereader.Module())
	res, _ := s.do(atp.Dispatch, map[string]string{atp.ContentType: mobile.ContentType}, body.Bytes())
	header := map[string]string{atp.AgentID: res.Header.Get(atp.AgentID)}
	var stream []byte
	for {
		header[atp.Range] = fmt.Sprintf("octets=%d-", len(stream))
		res, more := s.do(atp.Fetch, header, nil)
		stream = append(stream, more...)
		if res.Length >= 0 {
			break
		}
	}
	z, err := zstd.NewReader(bytes.NewReader(stream))
	if err != nil {
		s.t.Fatal(err)
	}
	defer z.Close()
	for results := mobile.NewResultReader(z); ; {
		got, err := results.Next()
		switch {
		case err == io.EOF:
			return records, logged, end
		case err != nil:
			s.t.Fatal(err)
		case got.Record != nil:
			records = append(records, string(got.Record))
		case got.Log != nil:
			logged = append(logged, string(got.Log))
		default:
			end = *got.End
		}
	}
}

func head(contentType string, length int) string {
	return fmt.Sprintf("Status: 200\nContent-Type: %s\nContent-Length: %d\nLast-Modified: %s\n", contentType, length, modified.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
}

func compare(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: record %d of %d is %.300q, want %.300q of %d", what, i, len(got), got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))], len(want))
		}
	}
}

func TestPageReader(t *testing.T) {
	s := newSite(t)
	large := strings.Repeat("<p>A line of a large page.\n", 100_000)
	const secret = `<html><head><title>secret</title><meta name="robots" content="noindex"></head><body>secret <a href="a.html">secret</a></body></html>`
	s.write("robots.txt", "User-agent: *\nDisallow: /docs/closed/\n")
	s.write("docs/index.html", "<h1>Index</h1>")
	s.write("docs/a b.html", "<p>A")
	s.write("docs/closed/c.html", "<p>C")
	s.write("docs/large.html", large)
	s.write("docs/notes.txt", "notes")
	s.write("docs/secret.html", secret)
	s.write("other/d.html", "<p>D")
	in := reading.Input{Token: "ExampleBot", Want: reading.Pages, Types: []string{"text/html"}, MaxSize: 1 << 20}
	records, logged, end := s.visit(in)
	cut := "D/docs/large.html\n" + head("text/html", len(large)) + "Curtsy-Truncated: yes\n\n" + large[:1<<20]
	skeleton := "S/docs/secret.html\n" + head("text/html", len(secret)) + "\n<meta name=\"robots\" content=\"noindex\"/>\n<body>\n<a href=\"a.html\"></a>\n"
	compare(t, "the first visit", records,
		"D/docs/\n"+head("text/html", 14)+"\n<h1>Index</h1>", "D/docs/a%20b.html\n"+head("text/html", 4)+"\n<p>A", cut, skeleton,
		`E{"listed":5,"sent":4,"unchanged":0,"left_out":1}`)
	if end.Outcome != mobile.Done || len(logged) > 0 {
		t.Errorf("%+v, log %q", end, logged)
	}
	t.Logf("the first run took %.2f s of processor time", end.CPU)

	known := func(path, body string) uint64 { return reading.KnownHash(path, reading.Digest([]byte(body))) }
	in.Types, in.Known = nil, reading.MakeTable([]uint64{known("/docs/", "<h1>Index</h1>"), known("/docs/a%20b.html", "<p>A"), known("/docs/large.html", large[:1<<20]), known("/docs/secret.html", secret)})
	s.write("docs/a b.html", "<p>changed")
	records, _, _ = s.visit(in)
	compare(t, "the second visit", records,
		"D/docs/a%20b.html\n"+head("text/html", 10)+"\n<p>changed", "U/docs/large.html\n"+head("text/html", len(large))+"Curtsy-Truncated: yes\n\n", "D/docs/notes.txt\n"+head("text/plain", 5)+"\nnotes",
		"u/docs/\x00/docs/secret.html\x00", `E{"listed":5,"sent":2,"unchanged":3,"left_out":0}`)

	in.Want, in.Known, in.MaxPages = reading.Facts, nil, 2
	records, _, _ = s.visit(in)
	compare(t, "facts", records,
		`F{"path":"/docs/","status":200,"type":"text/html","last_modified":"Fri, 02 Jan 2026 03:04:05 GMT","digest":"`+mobile.Digest([]byte("<h1>Index</h1>"))+`","size":14,"text":"Index"}`,
		`F{"path":"/docs/a%20b.html","status":200,"type":"text/html","last_modified":"Fri, 02 Jan 2026 03:04:05 GMT","digest":"`+mobile.Digest([]byte("<p>changed"))+`","size":10,"text":"changed"}`,
		`E{"listed":5,"sent":2,"unchanged":0,"left_out":3}`)
}

// The largest input and documents of the largest size fit into the memory that a host gives by
// default.
func TestMemory(t *testing.T) {
	s := newSite(t)
	in := reading.Input{Token: "ExampleBot", Want: reading.Pages, MaxSize: reading.MaxBody}
	hashes := make([]uint64, reading.MaxKnown)
	for i := range hashes {
		hashes[i] = uint64(i) << 40
	}
	in.Known = reading.MakeTable(hashes)
	text := strings.Repeat("<p>A line of a large page.\n", reading.MaxBody/27)
	wide := "\xff\xfe" + strings.Repeat("<\x00p\x00>\x00a\x00", 8<<20/8) // in UTF-16
	var want []string
	for i := range 2 { // the second needs the memory of the first
		name := fmt.Sprintf("docs/%d.html", i)
		s.write(name, text)
		want = append(want, "D/"+name+"\n"+head("text/html", len(text))+"\n"+text)
		name = fmt.Sprintf("docs/%d.wide.xhtml", i)
		s.write(name, wide)
		want = append(want, "D/"+name+"\n"+head("application/xhtml+xml", len(wide))+"\n"+wide)
	}
	records, logged, end := s.visit(in)
	if end.Outcome != mobile.Done {
		t.Fatalf("%+v, log %q", end, logged)
	}
	compare(t, "large documents", records, append(want, `E{"listed":4,"sent":4,"unchanged":0,"left_out":0}`)...)
}
