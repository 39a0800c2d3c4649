package e2e

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
)

// signedOrigin is a site that only answers signed requests. It implements RFC 9421 and the drafts
// independently, with regular expressions and its own JSON, and shares no code with pkg/botauth.
type signedOrigin struct {
	agent string // the required value of the Signature-Agent field
	keys  map[string]ed25519.PublicKey

	mu     sync.Mutex
	nonces map[string]bool
	good   []*http.Request // verified
	bad    []string        // refused, with the reason
	pages  map[string]bool // that were served
}

// readKeys takes the keys of a published directory.
func (o *signedOrigin) readKeys(directory []byte) error {
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(directory, &set); err != nil {
		return err
	}
	o.keys = map[string]ed25519.PublicKey{}
	for _, k := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(k["x"].(string))
		if err != nil || k["kty"] != "OKP" || k["crv"] != "Ed25519" {
			return fmt.Errorf("%v, %v", k, err)
		}
		sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":"%s"}`, k["x"]))
		id := base64.RawURLEncoding.EncodeToString(sum[:])
		if k["kid"] != id {
			return fmt.Errorf("kid %v, thumbprint %s", k["kid"], id)
		}
		o.keys[id] = x
	}
	return nil
}

var (
	inputRE     = regexp.MustCompile(`^([a-z*][a-z0-9_.*-]*)=(\(("[^"]*"(?:;key="[^"]*")?(?: "[^"]*"(?:;key="[^"]*")?)*)\)((?:;[a-z]+=(?:"[^"]*"|[0-9]+))*))$`)
	identRE     = regexp.MustCompile(`"([^"]*)"(?:;key="([^"]*)")?`)
	paramRE     = regexp.MustCompile(`;([a-z]+)=(?:"([^"]*)"|([0-9]+))`)
	signatureRE = regexp.MustCompile(`^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):$`)
)

// verify returns what is wrong with a request, or nil.
func (o *signedOrigin) verify(r *http.Request, now time.Time) error {
	if r.TLS == nil {
		return errors.New("plain http")
	}
	for _, name := range []string{"Signature-Agent", "Signature-Input", "Signature"} {
		if len(r.Header[name]) != 1 {
			return fmt.Errorf("%d fields %s", len(r.Header[name]), name)
		}
	}
	in := inputRE.FindStringSubmatch(r.Header.Get("Signature-Input"))
	sig := signatureRE.FindStringSubmatch(r.Header.Get("Signature"))
	if in == nil || sig == nil || in[1] != sig[1] {
		return fmt.Errorf("unreadable: %s %s", r.Header.Get("Signature-Input"), r.Header.Get("Signature"))
	}
	field := r.Header.Get("Signature-Agent")
	if field != o.agent {
		return fmt.Errorf("another agent: %s", field)
	}
	params := map[string]string{}
	for _, p := range paramRE.FindAllStringSubmatch(in[4], -1) {
		if _, twice := params[p[1]]; twice {
			return fmt.Errorf("%s twice", p[1])
		}
		params[p[1]] = p[2] + p[3]
	}
	if params["tag"] != "web-bot-auth" || params["alg"] != "ed25519" {
		return fmt.Errorf("parameters %v", params)
	}
	created, err1 := strconv.ParseInt(params["created"], 10, 64)
	expires, err2 := strconv.ParseInt(params["expires"], 10, 64)
	switch {
	case err1 != nil || err2 != nil || expires-created != 60:
		return fmt.Errorf("times %v", params)
	case now.Unix() < created:
		return fmt.Errorf("created in %d s", created-now.Unix())
	case now.Unix() >= expires:
		return fmt.Errorf("expired %d s ago", now.Unix()-expires)
	}
	var lines, names []string
	for _, c := range identRE.FindAllStringSubmatch(in[3], -1) {
		value := ""
		switch c[1] {
		case "@authority":
			value = strings.TrimSuffix(strings.ToLower(r.Host), ":443")
		case "@method":
			value = r.Method
		case "@path":
			value, _, _ = strings.Cut(r.RequestURI, "?")
		case "signature-agent":
			value = field
			if c[2] != "" {
				value = strings.TrimPrefix(field, c[2]+"=")
			}
		default:
			return fmt.Errorf("component %s", c[1])
		}
		lines, names = append(lines, c[0]+": "+value), append(names, c[1])
	}
	if want := []string{"@authority", "@method", "@path", "signature-agent"}; !slices.Equal(names, want) {
		return fmt.Errorf("covered are %v", names)
	}
	lines = append(lines, `"@signature-params": `+in[2])
	bytes, err := base64.StdEncoding.DecodeString(sig[2])
	key := o.keys[params["keyid"]]
	if err != nil || key == nil || !ed25519.Verify(key, []byte(strings.Join(lines, "\n")), bytes) {
		return fmt.Errorf("no signature of key %s over\n%s", params["keyid"], strings.Join(lines, "\n"))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if nonce := params["nonce"]; len(nonce) < 22 || o.nonces[nonce] {
		return errors.New("replayed")
	}
	o.nonces[params["nonce"]] = true
	return nil
}

const signedHosts, signedPages = 4, 250 // of each

func signedHost(n int) string { return fmt.Sprintf("h%d.signed.test", n%signedHosts) }

func (o *signedOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := o.verify(r, time.Now()); err != nil {
		o.mu.Lock()
		o.bad = append(o.bad, fmt.Sprintf("%s %s%s: %v", r.Method, r.Host, r.RequestURI, err))
		o.mu.Unlock()
		w.Header().Set("Accept-Signature", `sig1=("@authority");tag="web-bot-auth"`)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	o.mu.Lock()
	o.good = append(o.good, r)
	o.mu.Unlock()
	kind, number, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n, err := strconv.Atoi(number)
	host := int(r.Host[1] - '0')
	w.Header().Set("Content-Type", "text/html")
	switch {
	case r.URL.Path == "/robots.txt" && host == 3:
		http.Redirect(w, r, "https://"+signedHost(0)+"/robots.txt", http.StatusFound)
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
	case kind == "r" && err == nil: // on the same host
		http.Redirect(w, r, fmt.Sprintf("/p/%d", n), http.StatusFound)
	case kind == "x" && err == nil: // to the next
		http.Redirect(w, r, fmt.Sprintf("https://%s/p/%d", signedHost(host+1), n), http.StatusMovedPermanently)
	case kind == "p" && err == nil && n < signedPages:
		o.mu.Lock()
		o.pages[r.Host+r.URL.Path] = true
		o.mu.Unlock()
		fmt.Fprintf(w, "<title>Page %d</title><p>Page %d of host %d.", n, n, host)
		for _, to := range []int{2*n + 1, 2*n + 2} {
			switch {
			case to >= signedPages:
			case to%10 == 3:
				fmt.Fprintf(w, `<a href="/r/%d?from=%d">r</a>`, to, n)
			case to%25 == 7:
				fmt.Fprintf(w, `<a href="/x/%d">x</a><a href="/p/%d?q=%%C3%%A4&amp;z">p</a>`, to, to)
			default:
				fmt.Fprintf(w, `<a href="/p/%d">p</a>`, to)
			}
		}
	default:
		http.NotFound(w, r)
	}
}

// serve starts the origin over TLS, for HTTP/1.1 and HTTP/2, and returns the certificates to trust.
func (o *signedOrigin) serve(t *testing.T, net *simnet.Net) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for n := range signedHosts {
		cert.DNSNames = append(cert.DNSNames, signedHost(n))
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	o.nonces, o.pages = map[string]bool{}, map[string]bool{}
	srv := server(t, net, o, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return srv, pool
}
