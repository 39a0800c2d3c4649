package service

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Standing is a service that works for all crawls of a NATS server, and therefore belongs to none.
type Standing interface {
	Run(ctx context.Context, q *queue.Conn) error
	Err() error // why it cannot work at the moment; nil: it can
}

// Stand runs a service until ctx ends. It connects, waiting for the server if necessary.
// o.Crawl and o.Site are not used.
func Stand(ctx context.Context, o DaemonOptions, construct func(*prometheus.Registry) (Standing, error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reg := NewRegistry()
	s, err := construct(reg)
	if err != nil {
		return err
	}
	var conn atomic.Pointer[nats.Conn] // nil: not connected yet
	var adm *Admin
	g, ctx := errgroup.WithContext(ctx)
	if o.Listen != "off" {
		adm, err = NewAdmin(AdminOptions{
			Listen: o.Listen, Cert: o.Cert, Key: o.Key, Title: o.Kind + " " + o.Instance, Registry: reg, Log: o.Log,
			Ready: func(context.Context) error { return whyNot(conn.Load(), s) },
		})
		if err != nil {
			return err
		}
		o.Log.Info("admin port open", "url", adm.URL())
		g.Go(func() error { return adm.Run(ctx) })
	}
	if err := WatchCertificates(reg, o.Queue, conn.Load, adm); err != nil {
		return err
	}
	g.Go(func() error {
		defer stop() // without a service the admin port is of no use
		q, err := o.dial(ctx)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // it was stopped while it waited
		}
		if err != nil {
			return err
		}
		defer q.Close()
		conn.Store(q.NC)
		o.Log.Info("ready", "instance", o.Instance)
		return s.Run(ctx, q)
	})
	return g.Wait()
}

// whyNot says why a service cannot work, or nothing. nc is nil before the first connection.
func whyNot(nc *nats.Conn, s Standing) error {
	if nc == nil || !nc.IsConnected() {
		return errors.New("connecting to NATS")
	}
	return s.Err()
}
