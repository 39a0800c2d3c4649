package site

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// relayServer is an SMTP server that stores what it receives, or refuses it as a test demands.
type relayServer struct {
	addr string

	mu      sync.Mutex // guards what follows
	rcpt    map[string]error
	data    error
	mails   []gotMail
	session int
}

type gotMail struct {
	from, to string
	raw      []byte
}

func startRelay(t *testing.T) *relayServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relayServer{addr: ln.Addr().String(), rcpt: map[string]error{}}
	srv := smtp.NewServer(r)
	srv.Domain = "relay.test"
	ended := make(chan struct{})
	go func() { defer close(ended); srv.Serve(ln) }()
	t.Cleanup(func() { ln.Close(); srv.Close(); <-ended })
	return r
}

func (r *relayServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session++
	return &relaySession{r: r}, nil
}

func (r *relayServer) got() []gotMail {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]gotMail(nil), r.mails...)
}

type relaySession struct {
	r        *relayServer
	from, to string
}

func (s *relaySession) Reset()        {}
func (s *relaySession) Logout() error { return nil }
func (s *relaySession) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *relaySession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.to = to
	return s.r.rcpt[to]
}

func (s *relaySession) Data(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.data != nil {
		return s.r.data
	}
	s.r.mails = append(s.r.mails, gotMail{s.from, s.to, raw})
	return nil
}

func testRelay(t *testing.T, addr string) *relay {
	t.Helper()
	base, err := parseBase("https://www.example.org")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRelay(MailOptions{Relay: addr, From: "rup@www.example.org", TLS: "none", Hello: "www.example.org"}, base)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRelaySends(t *testing.T) {
	t.Parallel()
	srv := startRelay(t)
	r := testRelay(t, srv.addr)
	if err := r.check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	text := "SequenceNumber: 3\nURLBase: https://www.example.org/\n\nNew[2026-11-20]: " + strings.Repeat("a/very/long/path, ", 48) + "x\n.dot\n"
	w := &waiting{queuedMail: queuedMail{ID: "ID", Sequence: 3, Created: time.Unix(1e9, 0)}, text: []byte(text), to: "robot@crawler.example"}
	for range 2 {
		if err := r.send(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	mails := srv.got()
	if len(mails) != 2 || mails[0].from != "rup@www.example.org" || mails[0].to != "robot@crawler.example" {
		t.Fatalf("%d mails, %+v", len(mails), mails)
	}
	if !bytes.Equal(mails[0].raw, mails[1].raw) {
		t.Errorf("the second mail differs:\n%s\n%s", mails[0].raw, mails[1].raw)
	}
	msg, err := mail.ReadMessage(bytes.NewReader(mails[0].raw))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if got := strings.ReplaceAll(string(body), "\r\n", "\n"); err != nil || strings.TrimRight(got, "\n") != strings.TrimRight(text, "\n") {
		t.Errorf("body %q, %v", got, err)
	}
	for name, want := range map[string]string{
		"From": "<rup@www.example.org>", "To": "<robot@crawler.example>", "Subject": "RUP report 3 of https://www.example.org/", "Mime-Version": "1.0",
		"Content-Transfer-Encoding": "quoted-printable", "Auto-Submitted": "auto-generated", "Message-Id": "<rup.id.3.1000000000000000000@www.example.org>",
	} {
		if got := msg.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := msg.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		t.Errorf("Content-Type: %q", got)
	}
}

// The relay's reply determines whether the error concerns the mail, the address or the relay.
func TestRelayErrors(t *testing.T) {
	t.Parallel()
	srv := startRelay(t)
	r := testRelay(t, srv.addr)
	send := func(to string) error {
		return r.send(t.Context(), &waiting{queuedMail: queuedMail{ID: "ID", Sequence: 1}, text: []byte("x"), to: to})
	}
	srv.rcpt["gone@x.example"] = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	srv.rcpt["grey@x.example"] = &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 2, 0}, Message: "greylisted"}
	if err := send("gone@x.example"); !errors.Is(err, errAddress) {
		t.Errorf("550 to RCPT: %v", err)
	}
	if err := send("grey@x.example"); err == nil || errors.Is(err, errAddress) || errors.Is(err, errMailRefused) || errors.Is(err, errRelay) {
		t.Errorf("450 to RCPT: %v", err)
	}
	srv.mu.Lock()
	srv.data = &smtp.SMTPError{Code: 552, EnhancedCode: smtp.EnhancedCode{5, 3, 4}, Message: "too big"}
	srv.mu.Unlock()
	if err := send("a@x.example"); !errors.Is(err, errMailRefused) {
		t.Errorf("552 to DATA: %v", err)
	}
	srv.mu.Lock()
	srv.data = &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 3, 1}, Message: "disk full"}
	srv.mu.Unlock()
	if err := send("a@x.example"); err == nil || errors.Is(err, errMailRefused) {
		t.Errorf("452 to DATA: %v", err)
	}
	gone := testRelay(t, "127.0.0.1:1") // the system never assigns this port
	if err := gone.send(t.Context(), &waiting{queuedMail: queuedMail{ID: "ID"}, to: "a@x.example"}); !errors.Is(err, errRelay) {
		t.Errorf("no relay: %v", err)
	}
	if err := gone.check(t.Context()); err == nil || !strings.Contains(err.Error(), "relay") {
		t.Errorf("check of no relay: %v", err)
	}
	// No mail is sent to a relay without STARTTLS if STARTTLS is required.
	r.o.TLS = "starttls"
	if err := send("a@x.example"); !errors.Is(err, errRelay) {
		t.Errorf("no STARTTLS: %v", err)
	}
}

// A header gets nothing but one plain address, whatever is stored.
func TestRelayAddresses(t *testing.T) {
	t.Parallel()
	srv := startRelay(t)
	r := testRelay(t, srv.addr)
	for _, to := range []string{
		"a@x.example\r\nBcc: b@x.example", "a@x.example, b@x.example", "A <a@x.example>", "a@x.example\nX: y", "", "\"a\r\n b\"@x.example", "a@x.example>", "a@[127.0.0.1]",
	} {
		if err := r.send(context.Background(), &waiting{queuedMail: queuedMail{ID: "ID"}, to: to}); !errors.Is(err, errMailRefused) {
			t.Errorf("%q: %v", to, err)
		}
	}
	if srv.session != 0 || len(srv.got()) != 0 {
		t.Errorf("%d sessions, %d mails", srv.session, len(srv.got()))
	}
	for _, from := range []string{"", "rup", "a@b.example\nx"} {
		if _, err := newRelay(MailOptions{Relay: srv.addr, From: from}, r.base); err == nil {
			t.Errorf("sender %q taken", from)
		}
	}
	for _, relay := range []string{"", "localhost", "localhost:x", "localhost:0", ":25"} {
		if _, err := newRelay(MailOptions{Relay: relay, From: "a@b.example"}, r.base); err == nil || !strings.Contains(err.Error(), "mail.example.org:587") {
			t.Errorf("relay %q: %v", relay, err)
		}
	}
}
