package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
)

const dirOfChild = "EMBEDDED_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirOfChild); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.MaxStore == 0 {
		o.MaxStore = gib
	}
	o.Log = slog.New(slog.DiscardHandler)
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t testing.TB, s *Server, opts ...nats.Option) nats.JetStreamContext {
	t.Helper()
	opts = append(opts, nats.UserInfo(s.User(), s.Password()))
	url := s.ClientURL()
	if url == "" {
		opts = append(opts, nats.InProcessServer(s.InProcess()))
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestListenerWantsCredentials(t *testing.T) {
	s := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if s.User() == "" || s.Password() == "" || strings.Contains(s.ClientURL(), s.Password()) {
		t.Fatalf("user %q, URL %s", s.User(), s.ClientURL())
	}
	if _, err := nats.Connect(s.ClientURL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without credentials over TCP: %v", err)
	}
	connect(t, s)
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()), nats.UserInfo(s.User(), s.Password()))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestInProcessOnly(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := start(t, Options{Dir: t.TempDir()})
		if s.ClientURL() != "" || s.User() != "" {
			t.Errorf("URL %q, user %q", s.ClientURL(), s.User())
		}
		connect(t, s)
	})
}

func TestBadListen(t *testing.T) {
	_, err := Start(Options{Dir: t.TempDir(), Listen: "4222"})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:4222") {
		t.Errorf("%v", err)
	}
	dir := t.TempDir()
	first := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	taken := strings.TrimPrefix(first.ClientURL(), "nats://")
	if _, err := Start(Options{Dir: dir, Listen: taken, MaxStore: gib, Log: slog.New(slog.DiscardHandler)}); err == nil ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a taken port: %v", err)
	}
	if s := start(t, Options{Dir: dir}); !s.WasClean() {
		t.Error("a start that failed counts as a crash")
	}
}

func TestLocked(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := start(t, Options{Dir: dir})
		_, err := Start(Options{Dir: dir})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("second server: %v", err)
		}
		s.Shutdown()
		start(t, Options{Dir: dir})
	})
}

func TestCleanAndNot(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	first := s.BootID()
	if !s.WasClean() {
		t.Error("the first run ever was not clean")
	}
	s.Shutdown()
	s.Shutdown()
	s = start(t, Options{Dir: dir})
	if !s.WasClean() || s.BootID() == first {
		t.Errorf("after Shutdown: clean %v, boot %s, before %s", s.WasClean(), s.BootID(), first)
	}
	s.Shutdown()

	kill(t, dir)
	s = start(t, Options{Dir: dir})
	if s.WasClean() {
		t.Error("clean after a SIGKILL")
	}
	m, err := connect(t, s).GetMsg("S", 3)
	if err != nil || string(m.Data) != "3" {
		t.Errorf("acknowledged before the SIGKILL, now: %v, %v", m, err)
	}
}

// child stores three messages and waits until it is killed.
func child(dir string) {
	s, err := Start(Options{Dir: dir, MaxStore: gib, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	if err != nil {
		panic(err)
	}
	js, _ := nc.JetStream()
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: 16 * mib}); err != nil {
		panic(err)
	}
	for i := range 3 {
		if _, err := js.Publish("s", fmt.Append(nil, i+1)); err != nil {
			panic(err)
		}
	}
	fmt.Println("stored")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent dies or kills this process
}

func kill(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirOfChild+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if line != "stored\n" {
		t.Fatalf("the child printed %q", line)
	}
}

func TestCorruptStream(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := start(t, Options{Dir: dir})
		js := connect(t, s)
		if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: 16 * mib}); err != nil {
			t.Fatal(err)
		}
		s.Shutdown()
		meta := filepath.Join(dir, "jetstream", "$G", "streams", "S", "meta.inf")
		if err := os.WriteFile(meta, []byte("{broken"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Start(Options{Dir: dir, User: "u", Password: "p", MaxStore: gib, Log: slog.New(slog.DiscardHandler)})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), filepath.Dir(meta)) {
			t.Fatalf("%v", err)
		}
		// The server warns of our password at each start. That warning is not about the damage.
		if strings.Contains(err.Error(), "assword") || !strings.Contains(err.Error(), "meta.inf") && !strings.Contains(err.Error(), "metafile") {
			t.Errorf("the error does not say what the server found, and nothing else: %v", err)
		}
		if err := os.Rename(filepath.Dir(meta), filepath.Join(dir, "aside")); err != nil {
			t.Fatal(err)
		}
		start(t, Options{Dir: dir})
	})
}

// A stream that stopped after a failed write works again when the disk has free space.
func TestHeals(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := start(t, Options{Dir: t.TempDir()})
		back := make(chan bool, 1)
		connect(t, s, nats.ReconnectWait(20*time.Millisecond), nats.ReconnectHandler(func(*nats.Conn) { back <- true }))
		before := s.current()
		failed := time.Now()
		// This is the server's message after ENOSPC.
		before.Errorf("JetStream stream '%s > %s' critical write error: %v", "$G", "S", "no space left on device")
		<-back
		if took := time.Since(failed); took < healEvery || took > healEvery+time.Second {
			t.Errorf("restarted after %v, it looks every %v", took, healEvery)
		}
		if s.current() == before {
			t.Error("the same server as before")
		}
	})
}

// The server answers the requests of a client that has gone away before it ends. It waits for a
// moment with its locks held. In virtual time that moment never passes if a goroutine waits for
// such a lock.
func TestRequestsBeforeTheEnd(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := start(t, Options{Dir: t.TempDir()})
		nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()), nats.UserInfo(s.User(), s.Password()))
		if err != nil {
			t.Fatal(err)
		}
		js, err := nc.JetStream()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: 16 * mib}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: "C", AckPolicy: nats.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
		answers, err := nc.SubscribeSync(nats.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(subject, text string) {
			if err := nc.PublishRequest("$JS.API.CONSUMER."+subject, answers.Subject, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		ask("MSG.NEXT.S.C", `{"batch":1,"expires":60000000000}`)
		for i := range 50 {
			name := fmt.Sprint("C", i)
			ask("DURABLE.CREATE.S."+name, `{"stream_name":"S","config":{"durable_name":"`+name+`","ack_policy":"explicit"}}`)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		s.Shutdown()
	})
}

func TestRestartKeepsClients(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := start(t, Options{Dir: t.TempDir()})
		goesOnAfterRestart(t, s, func(back chan bool) { <-back })
	})
}

// A real listener gets the same port again.
func TestRestartKeepsPort(t *testing.T) {
	s := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	goesOnAfterRestart(t, s, func(back chan bool) { testaid.Receive(t, "a client's reconnect", back) })
	if got := "nats://" + s.current().Addr().String(); got != s.ClientURL() {
		t.Errorf("it listens at %s after the restart, at %s before", got, s.ClientURL())
	}
}

func goesOnAfterRestart(t *testing.T, s *Server, wait func(back chan bool)) {
	t.Helper()
	back := make(chan bool, 1)
	js := connect(t, s, nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1),
		nats.ReconnectHandler(func(*nats.Conn) { back <- true }))
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: 16 * mib}); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	wait(back)
	if _, err := js.Publish("s", nil); err != nil {
		t.Error(err)
	}
}
