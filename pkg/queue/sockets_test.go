package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// The tests of this file need real sockets: connections inside a process have no TLS, and the
// errors about unreachable servers contain addresses.

// startNATS starts a server on a real socket, like an operator does. The function set changes its
// options.
func startNATS(t *testing.T, set func(o *server.Options)) (url string) {
	t.Helper()
	n := natsServer(t, set)
	testaid.Until(t, "a server that is ready", func() bool { return n.ReadyForConnections(time.Millisecond) })
	return "nats://" + n.Addr().String()
}

func natsServer(t *testing.T, set func(o *server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 64 << 20, NoSigs: true, NoLog: true}
	set(o)
	n, err := server.NewServer(o)
	check(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	return n
}

// authority creates certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	check(t, err)
	der := a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, a.key)
	a.cert, err = x509.ParseCertificate(der)
	check(t, err)
	a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) sign(c, parent *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(crand.Reader, c, parent, &key.PublicKey, a.key)
	check(a.t, err)
	return der
}

func (a *authority) write(name, kind string, der []byte) string {
	name = filepath.Join(a.dir, name)
	check(a.t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return name
}

// issue creates a certificate for a host with its key, and returns the names of their files.
func (a *authority) issue(host string) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	check(a.t, err)
	c := &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	certFile = a.write(host+".pem", "CERTIFICATE", a.sign(c, a.cert, key))
	der, err := x509.MarshalECPrivateKey(key)
	check(a.t, err)
	return certFile, a.write(host+"-key.pem", "EC PRIVATE KEY", der)
}

// serverTLS returns a function that gives a server a certificate for host.
func (a *authority) serverTLS(host string, verify bool) func(o *server.Options) {
	certFile, keyFile := a.issue(host)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	check(a.t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	c := &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	if verify {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return func(o *server.Options) { o.TLS, o.TLSConfig, o.TLSVerify, o.TLSTimeout = true, c, verify, 5 }
}

// dialTest is a call of Dial and a part of the expected error; empty: no error.
type dialTest struct {
	what  string
	o     Options
	words string
}

func (x dialTest) run(t *testing.T) {
	t.Helper()
	c, err := Dial(t.Context(), x.o, testLog(t))
	if err == nil {
		defer c.Close()
		if _, err = c.OpenBucket(t.Context(), "b", 0); err != nil {
			t.Errorf("%s: OpenBucket = %v", x.what, err)
		}
	}
	if x.words == "" && err != nil || x.words != "" && (err == nil || !strings.Contains(err.Error(), x.words)) {
		t.Errorf("%s: Dial = %v, want %q in it", x.what, err, x.words)
	}
}

// A server announces its other addresses, and nats.go tries them when the first one refuses us.
// Their certificate errors are irrelevant: the reported error must be that of the configured
// address.
func TestDialReportsTheConfiguredServer(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	certFile, keyFile := a.issue("127.0.0.1")
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	url := fmt.Sprintf("nats://127.0.0.1:%d", port)
	go func() { // one server of a cluster that refuses everybody
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintf(c, "INFO {\"server_id\":\"x\",\"version\":\"2.11.0\",\"proto\":1,\"tls_required\":true,\"auth_required\":true,\"max_payload\":1048576,"+
					"\"connect_urls\":[\"localhost:%d\"]}\r\n", port)
				c := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
				if _, err := c.Read(make([]byte, 4096)); err != nil {
					return
				}
				fmt.Fprint(c, "-ERR 'Authorization Violation'\r\n")
			}()
		}
	}()
	for _, x := range []dialTest{
		{"a wrong user", Options{URL: url, CAFile: filepath.Join(a.dir, "ca.pem"), User: "you", Password: "right"}, "refuses the credentials of user \"you\""},
		{"a wrong password", Options{URL: url, CAFile: filepath.Join(a.dir, "ca.pem"), User: "me", Password: "wrong"}, "refuses the credentials of user \"me\""},
		{"an unknown CA", Options{URL: url, CAFile: filepath.Join(other.dir, "ca.pem"), User: "me", Password: "right"}, "of an unknown CA"},
	} {
		x.run(t)
	}
}

func TestDialTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	ca := filepath.Join(a.dir, "ca.pem")
	url := startNATS(t, a.serverTLS("127.0.0.1", false))
	elsewhere := startNATS(t, a.serverTLS("nats.example.org", false))
	strict := startNATS(t, a.serverTLS("127.0.0.1", true))
	plain := startNATS(t, func(*server.Options) {})
	cert, key := a.issue("client")
	_, strangeKey := other.issue("client")
	strange, strangersKey := other.issue("stranger")
	junk := filepath.Join(t.TempDir(), "junk.pem")
	check(t, os.WriteFile(junk, []byte("junk"), 0o600))
	secure := func(url string) string { return strings.Replace(url, "nats://", "tls://", 1) }
	for _, x := range []dialTest{
		{"with its CA", Options{URL: url, CAFile: ca}, ""},
		{"and said so", Options{URL: secure(url), CAFile: ca}, ""},
		{"without its CA", Options{URL: url}, "of an unknown CA: give the CA's file with --nats-ca"},
		{"another CA", Options{URL: url, CAFile: filepath.Join(other.dir, "ca.pem")}, "of an unknown CA"},
		{"no CA file", Options{URL: url, CAFile: "/no/such/ca.pem"}, "/no/such/ca.pem"},
		{"no CA in the file", Options{URL: url, CAFile: junk}, junk},
		{"another name", Options{URL: elsewhere, CAFile: ca}, "is not for this name: use one of its names in --nats"},
		{"a CA and no TLS", Options{URL: plain, CAFile: ca}, "does not use TLS: configure a certificate on the server, or leave out"},
		{"TLS where there is none", Options{URL: secure(plain), CAFile: ca}, "does not use TLS: configure a certificate on the server, or leave out --nats-ca, --nats-cert and tls://"},
		{"with a certificate", Options{URL: strict, CAFile: ca, CertFile: cert, KeyFile: key}, ""},
		{"without a certificate", Options{URL: strict, CAFile: ca}, "requires a client certificate, use --nats-cert and --nats-key"},
		{"a stranger's certificate", Options{URL: strict, CAFile: ca, CertFile: strange, KeyFile: strangersKey}, "requires a client certificate, use --nats-cert and --nats-key"},
		{"no certificate file", Options{URL: url, CAFile: ca, CertFile: "/no/such.pem", KeyFile: key}, "/no/such.pem"},
		{"another's key", Options{URL: url, CAFile: ca, CertFile: cert, KeyFile: strangeKey}, "private key does not match"},
		{"half a certificate", Options{URL: url, CertFile: cert}, "both its certificate file and its key file"},
	} {
		x.run(t)
	}
}

// These keys are used only in these tests.
const (
	testSeed   = "SUANZ537KH5FJV7GJWX2RK642NFSIUU3HPXOUM6LKCVQELH3SPS2ZBO3UQ"
	testPublic = "UB3IBS66KOZSGGCVA23FGJK2DNG2UWPXXXU4N3VBXFJI3IP3JB6V7PWR"
)

func TestDialCredentials(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		check(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	seed, junk := file("seed.nk", testSeed+"\n"), file("junk", "junk\n")
	url := startNATS(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "frontier", Password: "secret"}}
		o.Nkeys = []*server.NkeyUser{{Nkey: testPublic}}
	})
	unknowing := startNATS(t, func(o *server.Options) { o.Username, o.Password = "frontier", "secret" })
	for _, x := range []dialTest{
		{"user and password", Options{URL: url, User: "frontier", Password: "secret"}, ""},
		{"a wrong password", Options{URL: url, User: "frontier", Password: "x"},
			`refuses the credentials of user "frontier": use a user and password (--nats-user, --nats-password-file)`},
		{"an unknown user", Options{URL: url, User: "me", Password: "secret"}, `refuses the credentials of user "me"`},
		{"nothing", Options{URL: url}, "refuses the credentials of a client without credentials"},
		{"an nkey", Options{URL: url, NKeyFile: seed}, ""},
		{"an unknown nkey", Options{URL: unknowing, NKeyFile: seed}, "refuses the credentials of the nkey of " + seed},
		{"no nkey file", Options{URL: url, NKeyFile: "/no/such.nk"}, "/no/such.nk"},
		{"no nkey in the file", Options{URL: url, NKeyFile: junk}, junk},
		{"no credentials file", Options{URL: url, CredsFile: "/no/such.creds"}, "/no/such.creds"},
		{"no credentials in the file", Options{URL: url, CredsFile: junk}, junk},
	} {
		x.run(t)
	}
	if _, err := Dial(t.Context(), Options{URL: url, User: "frontier", Password: "x"}, testLog(t)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("%v: whoever waits for a server must not wait for another password", err)
	}
}

func TestDialErrorsSayWhatToDo(t *testing.T) {
	const nobody = "nats://127.0.0.1:1" // the system assigns this port only on request
	s := startServer(t, embedded.Options{Listen: "127.0.0.1:0"})
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	plain.Start()
	t.Cleanup(func() { plain.Shutdown(); plain.WaitForShutdown() })
	tests := []struct {
		o     Options
		words string
	}{
		{Options{URL: nobody}, "nothing answers at " + nobody + ": start one with `nats-server -js`, or leave out --nats"},
		{Options{URL: s.ClientURL()}, "refuses the credentials"},
		{Options{URL: s.ClientURL(), User: s.User(), Password: "x"}, "refuses the credentials"},
		{Options{URL: plain.ClientURL()}, "has no JetStream: start it with `nats-server -js`"},
		{Options{URL: s.ClientURL(), CertFile: "c.pem"}, "both its certificate file and its key file"},
		{Options{URL: s.ClientURL(), NKeyFile: "/no/such/file"}, "/no/such/file"},
		{Options{URL: s.ClientURL(), CredsFile: "/no/such/creds"}, "/no/such/creds"},
		{Options{URL: "nats://no such host:4222"}, "no such host"},
		// An error does not show a password from the address.
		{Options{URL: "nats://a:hunter2@127.0.0.1:1,hunter2@127.0.0.1:1"}, "nothing answers at " + nobody + ",127.0.0.1:1"},
		{Options{URL: strings.Replace(s.ClientURL(), "nats://", "nats://a:hunter2@", 1)}, "refuses the credentials"},
		{Options{URL: "nats://a:hunter2@h:port"}, "connect to nats://h:port"},
		{Options{URL: strings.Replace(plain.ClientURL(), "nats://", "nats://a:hunter2@", 1)}, "has no JetStream"},
	}
	for _, x := range tests {
		c, err := Dial(t.Context(), x.o, testLog(t))
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), x.words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Dial(%+v) = %v, want %q in it", x.o, err, x.words)
		}
	}
}
