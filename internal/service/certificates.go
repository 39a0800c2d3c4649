package service

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/pkg/queue"
)

var expiryDesc = prometheus.NewDesc("curtsy_certificate_expiry_timestamp_seconds",
	"When a certificate in use expires, in Unix seconds: nats_ca (the first to expire of --nats-ca), nats_client (of this process, --nats-cert), "+
		"nats_server (of the connected node), dashboard (--dashboard-cert, as read at the start).", []string{"use"}, nil)

// expiries is a metric of the times when certificates expire, by their use. It leaves out a use
// that has no certificate or whose file cannot be read.
type expiries map[string]func() time.Time

// Describe implements prometheus.Collector.
func (e expiries) Describe(ch chan<- *prometheus.Desc) { ch <- expiryDesc }

// Collect implements prometheus.Collector.
func (e expiries) Collect(ch chan<- prometheus.Metric) {
	for use, end := range e {
		if t := end(); !t.IsZero() {
			ch <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(t.Unix()), use)
		}
	}
}

// WatchCertificates registers a metric of when the certificates of a process expire. They are those
// of NATS, whose files are read again for each connection, and the one with which the admin port
// was opened. conn returns the present connection to NATS, or nil. adm may be nil.
func WatchCertificates(reg prometheus.Registerer, o queue.Options, conn func() *nats.Conn, adm *Admin) error {
	return reg.Register(expiries{
		"nats_ca":     func() time.Time { return firstToEnd(o.CAFile) },
		"nats_client": func() time.Time { return leafEnd(o.CertFile) },
		"nats_server": func() (t time.Time) {
			nc := conn()
			if nc == nil {
				return t
			}
			// An error means that the server has no TLS or cannot be reached now.
			if state, err := nc.TLSConnectionState(); err == nil && len(state.PeerCertificates) > 0 {
				t = state.PeerCertificates[0].NotAfter
			}
			return t
		},
		"dashboard": func() (t time.Time) {
			if adm != nil && adm.secure != nil {
				t = adm.secure.Certificates[0].Leaf.NotAfter
			}
			return t
		},
	})
}

// leafEnd returns when the first certificate of a PEM file expires. The others are its issuers.
func leafEnd(file string) time.Time {
	if all := certificates(file); len(all) > 0 {
		return all[0].NotAfter
	}
	return time.Time{}
}

// firstToEnd returns when the first certificate of a PEM file to expire does so.
func firstToEnd(file string) (t time.Time) {
	for _, c := range certificates(file) {
		if t.IsZero() || c.NotAfter.Before(t) {
			t = c.NotAfter
		}
	}
	return t
}

// certificates returns the certificates of a PEM file, or none if it cannot be read.
func certificates(file string) (all []*x509.Certificate) {
	if file == "" {
		return nil
	}
	rest, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
}
