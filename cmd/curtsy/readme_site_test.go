package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// exampleSite serves docs.example.org and data.example.org over TLS. It returns its address and the
// certificate to trust.
func exampleSite(t *testing.T) (addr, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"*.example.org"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<36, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewUnstartedServer(http.HandlerFunc(examplePage))
	site.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	site.StartTLS()
	t.Cleanup(site.Close)
	return strings.TrimPrefix(site.URL, "https://"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// examplePages are the pages of the site, by host and path.
var examplePages = map[string]string{
	"docs.example.org/robots.txt": "User-agent: *\nDisallow: /private/\n",
	"docs.example.org/":           `<title>Documentation</title><p>Read <a href="/start">how to start</a>, or <a href="/private/">our notes</a>.`,
	"docs.example.org/start":      `<title>Getting started</title><h1>Getting started</h1><p>Install it, and run it.`,
	"data.example.org/":           `<title>Open data</title><p>Measurements of our rivers.`,
	"data.example.org/data.txt":   "- path: rivers.csv\n  title: Rivers and their levels\n  license: CC-BY-4.0\n",
	"data.example.org/rivers.csv": "river,level\nElbe,2.1\n",
}

func examplePage(w http.ResponseWriter, r *http.Request) {
	text, ok := examplePages[r.Host+r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, ".txt"):
		w.Header().Set("Content-Type", "text/plain")
	case strings.HasSuffix(r.URL.Path, ".csv"):
		w.Header().Set("Content-Type", "text/csv")
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	fmt.Fprint(w, text)
}
