package simweb

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// tlsHandshake is the first byte of a TLS connection; no request begins with it.
const tlsHandshake = 0x16

// begun is a connection whose first bytes are already in a buffer. It reads from the buffer.
type begun struct {
	net.Conn
	br *bufio.Reader
}

func (c begun) Read(p []byte) (int, error) { return c.br.Read(p) }

// certificate makes a self-signed certificate for the hosts.
func certificate(hosts []string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), DNSNames: hosts, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, nil
}

// Certificate is the certificate of a web started with Config.TLS, in PEM; nil without TLS.
func (s *Server) Certificate() []byte {
	if s.cert == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Certificates[0].Certificate[0]})
}

// Roots is a pool with the certificate of a web started with Config.TLS.
func (s *Server) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	if s.cert != nil {
		if cert, err := x509.ParseCertificate(s.cert.Certificates[0].Certificate[0]); err == nil {
			pool.AddCert(cert)
		}
	}
	return pool
}
