package updates

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/smtp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
)

// listen accepts a desk's mails on an address of its network.
func (d *desk) listen(lmtp bool) (address string) {
	d.t.Helper()
	ln, err := d.net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	l := NewListener(d.Receiver, lmtp, "crawler.example")
	d.listener = l
	go func() { done <- l.Serve(ctx, ln) }()
	d.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			d.t.Errorf("Serve = %v", err)
		}
	})
	return ln.Addr().String()
}

// sleepUntilReported advances the clock to the time of testReport. A synctest bubble begins in
// 2000, and a change must not be later than its report.
func sleepUntilReported() {
	time.Sleep(time.Until(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)))
}

func (d *desk) dial(at string) net.Conn { return dial(d.t, d.net, at) }

func dial(t *testing.T, n *simnet.Net, at string) net.Conn {
	t.Helper()
	c, err := n.Dial(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (d *desk) client(at string) *smtp.Client { return client(d.t, d.net, at) }

func client(t *testing.T, n *simnet.Net, at string) *smtp.Client {
	t.Helper()
	c, err := smtp.NewClient(dial(t, n, at), "crawler.example")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// send sends a mail like smtp.SendMail.
func send(t *testing.T, n *simnet.Net, at, to string, mail []byte) error {
	t.Helper()
	c := client(t, n, at)
	defer c.Close()
	if err := errors.Join(c.Mail("w@site.example"), c.Rcpt(to)); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(mail); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}

func TestSMTP(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		sleepUntilReported()
		d := newDesk(t, Options{})
		at := d.listen(false)
		sent := func(to string, mail []byte) error {
			return send(t, d.net, at, to, mail)
		}
		if err := sent(d.address(), d.mail("", testReport)); err != nil {
			t.Fatal(err)
		}
		if logged := d.logged(); logged != testLogged {
			t.Errorf("logged %q, want %q", logged, testLogged)
		}
		d.full = errors.New("secret trouble")
		if err := sent(d.address(), d.mail("", testReport)); err == nil || !strings.HasPrefix(err.Error(), "451 ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("while the log is away: %v, want 451", err)
		}
		d.full = nil
		for what, c := range map[string]struct {
			to   string
			mail []byte
			want string
		}{
			"the mailbox itself": {"curtsy@crawler.example", d.mail("", testReport), "550 "},
			"a guessed address":  {"curtsy+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@crawler.example", d.mail("", testReport), "550 "},
			"relaying":           {"somebody@elsewhere.example", d.mail("", testReport), "550 "},
			"no report":          {d.address(), d.mail("", "\x1b[2J\xff"), "554 "},
		} {
			if err := sent(c.to, c.mail); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x1b\xff") {
				t.Errorf("%s: %v, want %s", what, err, c.want)
			}
		}
		// A mail that is too large is refused if its size is declared, and otherwise interrupted.
		c := d.client(at)
		if err := c.Hello("site.example"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := command(c, 250, "MAIL FROM:<w@site.example> SIZE=%d", maxMail+1); err == nil || !strings.HasPrefix(err.Error(), "552 ") {
			t.Errorf("a mail that is declared as too large: %v, want 552", err)
		}
		if err := sent(d.address(), d.mail("", strings.Repeat("x", maxMail+1))); err == nil {
			t.Error("a mail over the limit is taken")
		}
		if logged := d.logged(); logged != "" {
			t.Errorf("logged %s", logged)
		}
	})
}

func command(c *smtp.Client, want int, format string, args ...any) (int, string, error) {
	id, err := c.Text.Cmd(format, args...)
	if err != nil {
		return 0, "", err
	}
	c.Text.StartResponse(id)
	defer c.Text.EndResponse(id)
	return c.Text.ReadResponse(want)
}

// peerListener is a listener whose connections have the remote address that a test chooses.
type peerListener struct {
	net.Listener
	mu   sync.Mutex
	from net.Addr
}

type from struct {
	net.Conn
	addr net.Addr
}

func (c from) RemoteAddr() net.Addr { return c.addr }

func (g *peerListener) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	g.mu.Lock()
	defer g.mu.Unlock()
	return from{c, g.from}, err
}

// Idle connections of one peer do not prevent connections of others. A connection that names no
// recipient of ours ends soon, and then its peer may open another.
func TestConnLimiter(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		n := simnet.New(simnet.Options{})
		ln, err := n.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		book := &peerListener{Listener: ln}
		d := newGuests(book, slog.New(slog.DiscardHandler))
		come := func(address string) (inside net.Conn, reply string) {
			t.Helper()
			book.mu.Lock()
			book.from = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
			book.mu.Unlock()
			got := make(chan net.Conn, 1)
			go func() {
				c, err := d.Accept()
				if err == nil {
					got <- c
				}
			}()
			c := dial(t, n, ln.Addr().String())
			heard := make(chan string, 1)
			go func() {
				line, _ := bufio.NewReader(c).ReadString('\n')
				heard <- line
			}()
			select {
			case inside = <-got:
				t.Cleanup(func() { inside.Close() })
				return inside, ""
			case reply = <-heard: // this Accept waits for the next connection
				book.mu.Lock()
				book.from = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.99:1"))
				book.mu.Unlock()
				waiting := dial(t, n, ln.Addr().String())
				(<-got).Close()
				waiting.Close()
				return nil, reply
			}
		}
		var last net.Conn
		for i := range maxPerPeer {
			if last, _ = come(fmt.Sprintf("[2001:db8::%d]:25", i)); last == nil {
				t.Fatalf("connection %d is not let in", i)
			}
		}
		if _, reply := come("[2001:db8::ffff]:25"); !strings.HasPrefix(reply, "421 ") {
			t.Errorf("one too many gets the reply %q", reply)
		}
		if c, reply := come("[2001:db8:0:1::1]:25"); c == nil {
			t.Errorf("another peer gets the reply %q", reply)
		}
		last.Close()
		last.Close() // frees one connection, not two
		if c, reply := come("[2001:db8::1]:25"); c == nil {
			t.Errorf("after one has gone: %q", reply)
		}
		if _, reply := come("[2001:db8::2]:25"); !strings.HasPrefix(reply, "421 ") {
			t.Errorf("one too many gets the reply %q", reply)
		}
		// A connection that has named no recipient of ours ends early, whatever deadline is set for
		// a command. Another one stays.
		c, _ := come("192.0.2.1:25")
		g := c.(*guest)
		g.until = time.Now().Add(20 * time.Millisecond)
		g.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := g.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("an unknown connection: %v", err)
		}
		g.known.Store(true)
		g.SetReadDeadline(time.Now().Add(time.Hour))
		done := make(chan error, 1)
		go func() { _, err := g.Read(make([]byte, 1)); done <- err }()
		select {
		case err := <-done:
			t.Errorf("a known connection: %v", err)
		case <-time.After(30 * time.Minute):
		}
	})
}

// A recipient of ours makes a connection known.
func TestConnectionIsKnownByItsRecipient(t *testing.T) {
	d := newDesk(t, Options{})
	l := NewListener(d.Receiver, false, "crawler.example")
	s := &session{l: l, ctx: t.Context(), guest: &guest{}}
	if err := s.Rcpt("nobody@crawler.example", nil); err == nil || s.guest.known.Load() {
		t.Errorf("known by a stranger's address: %v", err)
	}
	if err := s.Rcpt(d.address(), nil); err != nil || !s.guest.known.Load() {
		t.Errorf("not known by its own: %v", err)
	}
}

// TestSMTPFlood sends more mails than a listener accepts at once. The others are asked to come
// later.
func TestSMTPFlood(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		c := d.client(d.listen(false))
		taken, later := 0, 0
		for range 3 * mailBurst {
			err := errors.Join(c.Mail("w@site.example"), c.Rcpt(d.address()))
			if err != nil {
				t.Fatal(err)
			}
			w, err := c.Data()
			if err != nil {
				t.Fatal(err)
			}
			w.Write(d.mail("", testReport))
			switch err := w.Close(); {
			case err == nil:
				taken++
			case strings.HasPrefix(err.Error(), "451 "):
				later++
			default:
				t.Fatal(err)
			}
		}
		if want := mailBurst / senderPart; taken != want || later != 3*mailBurst-want {
			t.Errorf("%d accepted, %d deferred; want %d, then others", taken, later, want)
		}
		// The address of another site still receives.
		other := &session{l: d.listener, ctx: t.Context(), to: []string{"another"}}
		if err := other.Data(strings.NewReader("no report")); err == nil || strings.Contains(err.Error(), "too many") {
			t.Errorf("another site's mail: %v", err)
		}
	})
}

// Somebody who knows an address begins small or large mails and stops sending. The mails of others
// are accepted all the same.
func TestSlowSendersHoldUpNobody(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		sleepUntilReported()
		d := newDesk(t, Options{})
		at := d.listen(false)
		for _, size := range []int{1, largeMail + 1} {
			for range maxTogether {
				c := d.client(at)
				if err := errors.Join(c.Mail("w@site.example"), c.Rcpt(d.address())); err != nil {
					t.Fatal(err)
				}
				w, err := c.Data()
				if err != nil {
					t.Fatal(err)
				}
				for range size/100 + 1 {
					fmt.Fprintf(w, "%0100d\r\n", 0)
				}
				if err := c.Text.W.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			conn := d.dial(at)
			if err := conn.SetDeadline(time.Now().Add(idle / 2)); err != nil {
				t.Fatal(err)
			}
			c, err := smtp.NewClient(conn, "crawler.example")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Mail("w@site.example"), c.Rcpt(d.address())); err != nil {
				t.Fatal(err)
			}
			w, err := c.Data()
			if err != nil {
				t.Fatal(err)
			}
			w.Write(d.mail("", testReport))
			if err := w.Close(); err != nil {
				t.Fatalf("while %d mails of %d bytes do not end: %v", maxTogether, size, err)
			}
			if logged := d.logged(); logged != testLogged {
				t.Errorf("logged %q, want %q", logged, testLogged)
			}
		}
	})
}

func TestLMTP(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		sleepUntilReported()
		d := newDesk(t, Options{})
		c := d.dial(d.listen(true))
		r := bufio.NewReader(c)
		reply := func() string {
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if len(line) > 3 && line[3] == ' ' {
					return line
				}
			}
		}
		reply()
		for _, step := range [][2]string{
			{"LHLO mx.crawler.example", "250"}, {"MAIL FROM:<w@site.example>", "250"}, {"RCPT TO:<nobody@crawler.example>", "550"},
			{"RCPT TO:<" + d.address() + ">", "250"}, {"DATA", "354"}, {string(d.mail("", testReport)) + "\r\n.", "250"}, {"QUIT", "221"},
		} {
			fmt.Fprintf(c, "%s\r\n", step[0])
			if got := reply(); !strings.HasPrefix(got, step[1]) {
				t.Fatalf("%.40q: %s, want %s", step[0], got, step[1])
			}
		}
		if logged := d.logged(); logged != testLogged {
			t.Errorf("logged %q, want %q", logged, testLogged)
		}
	})
}

func TestMaildir(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		sleepUntilReported()
		d := newDesk(t, Options{})
		dir := t.TempDir()
		if _, err := NewMaildir(d.Receiver, dir); err == nil || !strings.Contains(err.Error(), "mkdir") {
			t.Errorf("an empty folder: %v", err)
		}
		for _, sub := range []string{"new", "cur", "tmp"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		m, err := NewMaildir(d.Receiver, dir)
		if err != nil {
			t.Fatal(err)
		}
		put := func(name string, mail []byte) {
			tmp := filepath.Join(dir, "tmp", name)
			if err := errors.Join(os.WriteFile(tmp, mail, 0o600), os.Rename(tmp, filepath.Join(dir, "new", name))); err != nil {
				t.Fatal(err)
			}
		}
		outside := filepath.Join(t.TempDir(), "outside")
		if err := errors.Join(os.WriteFile(outside, d.mail("", testReport), 0o600), os.Symlink(outside, filepath.Join(dir, "new", "link"))); err != nil {
			t.Fatal(err)
		}
		put("1.a", d.mail("", testReport))
		put("2.b", []byte("To: somebody@crawler.example\r\n\r\nhello\r\n"))
		put("3.c", d.mail("", "no report"))
		put("4.d", make([]byte, maxMail+1))
		forwarded := strings.Replace(string(d.mail("Delivered-To: "+d.address()+"\r\n", testReport)), "To: "+d.address(), "To: list@elsewhere.example", 1)
		put("5.e", []byte(forwarded))
		if err := m.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if logged := d.logged(); logged != testLogged+testLogged {
			t.Errorf("logged %q, want that twice: %q", logged, testLogged)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "new", "*"))
		seen, _ := filepath.Glob(filepath.Join(dir, "cur", "*:2,S"))
		if len(left) != 0 || len(seen) != 6 {
			t.Errorf("left %v, seen %v", left, seen)
		}

		d.full = errors.New("the log is away")
		put("6.f", d.mail("", testReport))
		if err := m.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "new", "*")); len(left) != 1 {
			t.Errorf("new/ has %v: a mail that could not be taken yet stays", left)
		}
		d.full = nil
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if left, _ := filepath.Glob(filepath.Join(dir, "new", "*")); len(left) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the mail is not taken")
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if logged := d.logged(); logged != testLogged {
			t.Errorf("logged %q, want %q", logged, testLogged)
		}
	})
}

// The keys of these mails' signatures cannot be looked up. They do not delay other mails for long.
// They are tried less and less often, until a mail server would give up as well.
func TestMaildirWithMailsThatCannotBeTaken(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	simnet.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		began := time.Now()
		d := newDesk(t, Options{LookupTXT: func(ctx context.Context, _ string) ([]string, error) {
			asked.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return nil, &net.DNSError{IsTimeout: true, Err: "timeout"}
		}})
		var signed bytes.Buffer
		if err := dkim.Sign(&signed, bytes.NewReader(d.mail("", testReport)), &dkim.SignOptions{Domain: "site.example", Selector: "s1", Signer: private}); err != nil {
			t.Fatal(err)
		}
		put := func(name string, mail []byte) {
			path := filepath.Join(dir, "new", name)
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "new"), 0o700), os.MkdirAll(filepath.Join(dir, "cur"), 0o700),
				os.WriteFile(path, mail, 0o600), os.Chtimes(path, began, began)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			put(fmt.Sprintf("%d.bad", i), signed.Bytes())
		}
		put("3.good", d.mail("", testReport))
		m, err := NewMaildir(d.Receiver, dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		in := func(pattern string) int {
			names, _ := filepath.Glob(filepath.Join(dir, pattern))
			return len(names)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if in("new/*.bad") != 3 || in("cur/3.good:2,S") != 1 {
			t.Error("after ten minutes the good mail is not taken, or others are")
		}
		time.Sleep(24*time.Hour - time.Since(began))
		synctest.Wait()
		if n := asked.Load(); n > 3*50 || in("new/*.bad") != 3 {
			t.Errorf("in a day keys were asked for %d times, %d mails are left", n, in("new/*.bad"))
		}
		time.Sleep(givenUp + 2*longestPause - time.Since(began))
		synctest.Wait()
		if n := in("new/*"); n != 0 {
			t.Errorf("%d mails are left after five days", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Somebody who may write to the Maildir replaces a mail with a link while it is being read. The
// target of the link is never read.
func TestMaildirFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path, mail, secret, next := filepath.Join(dir, "1.a"), filepath.Join(dir, "mail"), filepath.Join(dir, "secret"), filepath.Join(dir, "next")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.WriteFile(mail, []byte("mail"), 0o600), os.Link(mail, path)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 5_000 && err == nil; i++ {
			err = errors.Join(os.Symlink(secret, next), os.Rename(next, path), os.Link(mail, next), os.Rename(next, path))
		}
		done <- err
	}()
	for read := 0; ; {
		select {
		case err := <-done:
			if err != nil || read == 0 {
				t.Errorf("the mail was read %d times, %v", read, err)
			}
			return
		default:
		}
		b, err := readMail(path)
		if err == nil && string(b) != "mail" {
			t.Fatalf("read %q", b)
		}
		if err == nil {
			read++
		}
	}
}

// TestSMTPMemory sends four of the largest accepted mails at once. At most two at a time are in
// memory.
func TestSMTPMemory(t *testing.T) {
	d := newDesk(t, Options{})
	var mu sync.Mutex
	taken := 0
	d.o.Append = func(context.Context, int, []byte) error {
		mu.Lock()
		defer mu.Unlock()
		taken++
		return nil
	}
	var b strings.Builder
	b.WriteString("SequenceNumber: 1\r\nURLBase: http://www.site.example/\r\n\r\n")
	for i := 0; b.Len() < testaid.Volume(maxMail, maxMail/8)-4096; i++ {
		fmt.Fprintf(&b, "Change[2026-01-16]: %s/%d.html\r\n", strings.Repeat("d", 170), i)
	}
	mail := d.mail("", b.String())
	at := d.listen(false)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error { return send(t, d.net, at, d.address(), mail) })
	}
	sent := make(chan error, 1)
	go func() { sent <- g.Wait() }()
	most := uint64(0)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapInuse)
		select {
		case err := <-sent:
			if err != nil {
				t.Error(err)
			}
			grown := int64(most-before.HeapInuse) >> 20
			t.Logf("4 mails of %d MiB: the heap grew by %d MiB at most, %d events", len(mail)>>20, grown, taken)
			if grown > 280 {
				t.Errorf("the heap grew by %d MiB, want at most 280", grown)
			}
			return
		case <-look.C:
		}
	}
}
