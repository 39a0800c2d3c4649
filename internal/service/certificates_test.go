package service

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/pkg/queue"
)

// issue writes a self-signed certificate for 127.0.0.1 that expires at a time, and its key.
func issue(t *testing.T, name string, end time.Time) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write(name+".pem", "CERTIFICATE", der), write(name+"-key.pem", "EC PRIVATE KEY", keyDER)
}

// The metric has the expiry of each certificate in use: of the first to expire in a CA file, of the
// NATS server that we are connected to, and of the certificate with which the admin port was
// opened.
func TestCertificatesTellTheirEnds(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	day := func(n int) time.Time { return now.AddDate(0, 0, n) }
	serverCert, serverKey := issue(t, "server", day(10))
	clientCert, clientKey := issue(t, "client", day(20))
	boardCert, boardKey := issue(t, "board", day(30))
	first, _ := issue(t, "first", day(5))
	ca := filepath.Join(t.TempDir(), "ca.pem")
	var both []byte
	for _, file := range []string{serverCert, first} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, text...)
	}
	if err := os.WriteFile(ca, both, 0o600); err != nil {
		t.Fatal(err)
	}

	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, TLS: true, TLSTimeout: 20,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not listen")
	}
	nc, err := nats.Connect("tls://"+srv.Addr().String(), nats.RootCAs(ca), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	adm, err := NewAdmin(AdminOptions{Listen: "127.0.0.1:0", Cert: boardCert, Key: boardKey, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer adm.Close()

	o := queue.Options{CAFile: ca, CertFile: clientCert, KeyFile: clientKey}
	reg := prometheus.NewPedanticRegistry()
	if err := WatchCertificates(reg, o, func() *nats.Conn { return nc }, adm); err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Time{"nats_server": day(10), "nats_client": day(20), "dashboard": day(30), "nats_ca": day(5)}
	got := ends(t, reg)
	for use, end := range want {
		if !got[use].Equal(end) {
			t.Errorf("%s ends at %v, want %v", use, got[use], end)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told of %v", got)
	}

	// Without TLS, or if a file is missing, the metric has no value.
	reg = prometheus.NewPedanticRegistry()
	if err := WatchCertificates(reg, queue.Options{CAFile: "/nowhere.pem"}, func() *nats.Conn { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	if got := ends(t, reg); len(got) != 0 {
		t.Errorf("told of %v", got)
	}
}

// ends returns the expiry times in the metric by use.
func ends(t *testing.T, reg *prometheus.Registry) map[string]time.Time {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]time.Time{}
	for _, f := range all {
		for _, m := range f.Metric {
			got[m.Label[0].GetValue()] = time.Unix(int64(m.Gauge.GetValue()), 0)
		}
	}
	return got
}

// A port with TLS speaks HTTP/1.1 only, also to a client that prefers HTTP/2.
func TestNoHTTP2(t *testing.T) {
	s, err := Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Secure(issue(t, "server", time.Now().AddDate(0, 0, 1))); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, http.NotFoundHandler()) }()
	c, err := tls.Dial("tcp", s.ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if p := c.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Errorf("the protocol is %q", p)
	}
	c.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
