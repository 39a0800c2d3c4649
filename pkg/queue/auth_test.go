package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startNATS starts a server as operators run one, with whatever set sets.
func startNATS(t *testing.T, set func(o *server.Options)) (url string) {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 64 << 20, NoSigs: true, NoLog: true}
	set(o)
	n, err := server.NewServer(o)
	check(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(within) {
		t.Fatal("the server is not ready")
	}
	return "nats://" + n.Addr().String()
}

// authority makes certificates.
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
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
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

// issue makes a certificate for a host, and its key, and returns their files.
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

// serverTLS is what a server with a certificate for host sets.
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

// dialTest is a Dial and a part of what it says when it fails; empty: it must not.
type dialTest struct {
	what  string
	o     Options
	words string
}

func (x dialTest) run(t *testing.T) {
	t.Helper()
	began := time.Now()
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
	if d := time.Since(began); d > within/2 {
		t.Errorf("%s: it took %v", x.what, d)
	}
}

// A server tells of other addresses of its own, and they are tried when it refuses us; that its
// certificate is not for those says nothing of what was wrong with the one we named.
func TestDialTellsOfTheServerThatWasNamed(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	certFile, keyFile := a.issue("127.0.0.1")
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	url := fmt.Sprintf("nats://127.0.0.1:%d", port)
	go func() { // one of a cluster that refuses everybody
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
		{"an unknown CA", Options{URL: url, CAFile: filepath.Join(other.dir, "ca.pem"), User: "me", Password: "right"}, "a CA we do not know"},
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
		{"without its CA", Options{URL: url}, "a CA we do not know: name the CA's file (--nats-ca)"},
		{"another CA", Options{URL: url, CAFile: filepath.Join(other.dir, "ca.pem")}, "a CA we do not know"},
		{"no CA file", Options{URL: url, CAFile: "/no/such/ca.pem"}, "/no/such/ca.pem"},
		{"no CA in the file", Options{URL: url, CAFile: junk}, junk},
		{"another name", Options{URL: elsewhere, CAFile: ca}, "is not for this name: use one of its names in --nats"},
		{"a CA and no TLS", Options{URL: plain, CAFile: ca}, "has no TLS: give it a certificate, or leave out"},
		{"TLS where there is none", Options{URL: secure(plain), CAFile: ca}, "has no TLS: give it a certificate, or leave out --nats-ca, --nats-cert and tls://"},
		{"with a certificate", Options{URL: strict, CAFile: ca, CertFile: cert, KeyFile: key}, ""},
		{"without a certificate", Options{URL: strict, CAFile: ca}, "give one (--nats-cert, --nats-key)"},
		{"a stranger's certificate", Options{URL: strict, CAFile: ca, CertFile: strange, KeyFile: strangersKey}, "give one (--nats-cert, --nats-key)"},
		{"no certificate file", Options{URL: url, CAFile: ca, CertFile: "/no/such.pem", KeyFile: key}, "/no/such.pem"},
		{"another's key", Options{URL: url, CAFile: ca, CertFile: cert, KeyFile: strangeKey}, "private key does not match"},
		{"half a certificate", Options{URL: url, CertFile: cert}, "both its certificate file and its key file"},
	} {
		x.run(t)
	}
}

// A pair of keys for these tests and nothing else.
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
			`refuses the credentials of user "frontier": give user and password (--nats-user, --nats-password-file)`},
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

// A user with few rights works with what is there, makes nothing, and is told
// plainly what it may not.
func TestRights(t *testing.T) {
	url := startNATS(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "all", Password: "p"}, {Username: "few", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"x.events.0", "$JS.API.INFO", "$JS.API.STREAM.INFO.*",
				"$JS.API.STREAM.MSG.GET.*", "$JS.API.CONSUMER.*.>", "$KV.x-MEMBERS.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}}, {Username: "deaf", Password: "p", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{">"}}}}}
	})
	connect := func(user string, log *slog.Logger) *Conn {
		c, err := Dial(t.Context(), Options{URL: url, User: user, Password: "p"}, log)
		check(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	ctx := t.Context()
	cfg := LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 10 << 20}
	c := connect("all", testLog(t))
	_, err := c.OpenLog(ctx, cfg)
	check(t, err)
	openBucket(t, c)
	openMembers(t, c)
	put(t, openSnapshots(t, c), "cp", []byte("x"))

	said := newLines()
	few := connect("few", slog.New(said))
	l, err := few.OpenLog(ctx, cfg)
	check(t, err)
	appendN(t, l, 3)
	if _, err := readTo(t, l, Position{}, 3); err != nil {
		t.Error(err)
	}
	kv := openBucket(t, few)
	join(t, openMembers(t, few), "fetcher", "f").knows(t, "f")
	snaps := openSnapshots(t, few)
	wantSnapshot(t, snaps, "cp", []byte("x"))

	refusal := func(what, subject string, err error) {
		t.Helper()
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `NATS does not let user "few" use the subject `+subject) ||
			!strings.Contains(err.Error(), "deploy/nats.cluster.conf") {
			t.Errorf("%s = %v", what, err)
		}
	}
	defer func(d time.Duration) { apiTryWithin = d }(apiTryWithin)
	apiTryWithin = 500 * time.Millisecond
	began := time.Now()
	_, err = few.OpenLog(ctx, LogConfig{Stream: "x-EVENTS-1", Subject: "x.events.1", MaxBytes: 1 << 20})
	refusal("OpenLog of another log", "$JS.API.STREAM.CREATE.x-EVENTS-1", err)
	_, err = few.OpenBucket(ctx, "y-CRAWL", 0)
	refusal("OpenBucket of another bucket", "$JS.API.STREAM.CREATE.KV_y-CRAWL", err)
	refusal("Purge", "$JS.API.STREAM.PURGE.x-EVENTS-0", l.Purge(ctx, 1))
	_, err = snaps.Put(ctx, "cp2", 1, writeOf([]byte("x")))
	refusal("Put", "$O.x-CHECKPOINTS", err)
	if d := time.Since(began); d > 4*(apiTryWithin+time.Second) {
		t.Errorf("four refusals took %v", d)
	}
	bigger := cfg
	bigger.MaxBytes *= 2
	if _, err := few.OpenLog(ctx, bigger); err != nil {
		t.Errorf("OpenLog = %v: the log is there, only not as big as it might be", err)
	}
	_, err = Dial(ctx, Options{URL: url, User: "deaf", Password: "p"}, testLog(t))
	if err == nil || !strings.Contains(err.Error(), `user "deaf" use the subject _INBOX.`) {
		t.Errorf("Dial of one who may hear nothing = %v", err)
	}
	// Whoever owns or appends waits, and it is said what for.
	octx, cancel := context.WithTimeout(ctx, 3*term)
	defer cancel()
	if _, err := Own(octx, kv, "frontier.0", ownOptions(t, "a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Own = %v", err)
	}
	actx, stop := context.WithTimeout(ctx, ackWithin+2*time.Second)
	defer stop()
	go func() {
		_, _ = (&Log{c: few, cfg: LogConfig{Subject: "x.events.7"}}).Append(actx, nil)
	}()
	eventually(t, "Waiting", func() bool { return strings.Contains(few.Waiting()["x.events.7"], "no right to this subject") })
	if n := said.count("NATS refuses us a subject"); n < 5 || n > 10 {
		t.Errorf("refusals were said %d times", n)
	}
}
