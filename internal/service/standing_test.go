package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/queue"
)

// standing is a service that needs a subject.
type standing struct{ began chan struct{} }

func (s standing) Run(ctx context.Context, q *queue.Conn) error {
	close(s.began)
	<-ctx.Done()
	return q.NC.Flush() // the connection is still there
}

func (standing) Err() error { return errors.New("nothing works") }

// A service without a crawl waits for NATS, runs, and ends with its context. One that cannot be
// made ends at once.
func TestStand(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := broker.Start(t)
		line := broker.NewLine(server)
		line.Cut(true)
		o := DaemonOptions{Kind: "renderer", Instance: "r", Listen: "off", Log: quiet, Queue: queue.Options{InProcess: line, User: server.User(), Password: server.Password()}}
		for _, connected := range []bool{false, true} {
			ctx, stop := context.WithCancel(t.Context())
			s := standing{make(chan struct{})}
			over := make(chan error, 1)
			go func() { over <- Stand(ctx, o, func(*prometheus.Registry) (Standing, error) { return s, nil }) }()
			time.Sleep(time.Minute)
			if connected {
				line.Cut(false)
				await(t, "it runs", s.began)
			}
			stop()
			if err := <-over; err != nil {
				t.Errorf("connected %v: %v", connected, err)
			}
		}
		why := errors.New("no browser")
		if err := Stand(t.Context(), o, func(*prometheus.Registry) (Standing, error) { return nil, why }); err != why {
			t.Errorf("Stand = %v", err)
		}
	})
}

// Its health says why it cannot work.
func TestStandingHealth(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := broker.Start(t)
		line := broker.NewLine(server)
		nc := line.Dial(t, server).NC
		health := func(nc *nats.Conn, want string) {
			t.Helper()
			if err := whyNot(nc, standing{}); err == nil || err.Error() != want {
				t.Errorf("it is unhealthy because of %v, not %s", err, want)
			}
		}
		health(nil, "connecting to NATS")
		health(nc, "nothing works")
		line.Cut(true)
		synctest.Wait()
		health(nc, "connecting to NATS")
	})
}
