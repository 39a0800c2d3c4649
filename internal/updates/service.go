package updates

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/websub"
	"github.com/curtsy/curtsy/pkg/queue"
)

// MailOptions describe how reports are received. Any number of processes of a crawl may receive
// them, because receiving a report twice changes nothing.
type MailOptions struct {
	Listen   string // address of the SMTP server; empty: none
	LMTP     bool   // LMTP instead of SMTP
	Maildir  string // folder to read mail from; empty: none
	Trusted  string // as in Options
	IndexNow string // address that accepts IndexNow submissions; empty: none
	WebSub   string // address that accepts deliveries of WebSub hubs; empty: none
	// Proxies are the proxies before the two addresses above whose X-Forwarded-For counts.
	Proxies  []netip.Prefix
	Registry prometheus.Registerer
	Log      *slog.Logger
	// Open opens the addresses above; nil means net.Listen.
	Open func(network, address string) (net.Listener, error)
}

// On reports whether reports are received in any way.
func (o *MailOptions) On() bool {
	return o.Listen != "" || o.Maildir != "" || o.IndexNow != "" || o.WebSub != ""
}

// Service receives the reports of a crawl, as long as its spec has an address for them.
type Service struct {
	o        MailOptions
	receiver *Receiver
	secret   []byte
	listener net.Listener // nil: none
	maildir  *Maildir     // nil: none
	indexnow *IndexNow    // its listener is at; nil: none
	at       net.Listener // nil: none
	websub   *WebSub      // its listener is hubsAt; nil: none
	hubsAt   net.Listener // nil: none
	base     atomic.Pointer[string]
}

// NewService opens all listeners and folders, so that a port in use or a missing folder is reported
// at once. Call Run or Close.
func NewService(ctx context.Context, q *queue.Conn, kv jetstream.KeyValue, spec crawl.Spec, o MailOptions) (*Service, error) {
	names := crawl.Names(spec.Name)
	secrets, err := q.OpenSmallBucket(ctx, names.Secrets())
	if err != nil {
		return nil, err
	}
	secret, err := Secret(ctx, secrets, kv)
	if err != nil {
		return nil, err
	}
	s := &Service{o: o, secret: secret}
	open := o.Open
	if open == nil {
		open = net.Listen
	}
	put := func(ctx context.Context, shard int, event []byte) error {
		l, err := q.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(shard), Subject: names.EventsSubject(shard)})
		if err == nil {
			_, err = l.Append(ctx, event)
		}
		return err
	}
	s.receiver, err = New(Options{
		Addresses: Addresses{Mailbox: spec.UpdatesMail, Secret: secret}, Shards: spec.Shards, Trusted: o.Trusted, Metrics: o.Registry, Log: o.Log, Append: put,
	})
	if err != nil {
		return nil, err
	}
	if o.Maildir != "" {
		if s.maildir, err = NewMaildir(s.receiver, o.Maildir); err != nil {
			return nil, fmt.Errorf("updates-maildir: %w", err)
		}
	}
	if o.Listen != "" {
		if s.listener, err = open("tcp", o.Listen); err != nil {
			return nil, fmt.Errorf("updates-listen %s: %w; choose another address, for example 127.0.0.1:2525", o.Listen, err)
		}
		o.Log.Info("reports are accepted by mail", "address", s.listener.Addr().String(), "lmtp", o.LMTP)
	}
	if o.IndexNow != "" {
		if s.indexnow, err = NewIndexNow(spec.Shards, put, o.Registry, o.Log); err == nil {
			s.indexnow.proxies = o.Proxies
			s.at, err = open("tcp", o.IndexNow)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("updates-indexnow %s: %w; choose another address, for example 127.0.0.1:8087", o.IndexNow, err), s.Close())
		}
		o.Log.Info("IndexNow submissions are accepted", "url", "http://"+s.at.Addr().String()+IndexNowPath)
	}
	s.base.Store(&spec.UpdatesWebSub)
	if o.WebSub != "" {
		callbacks := func() websub.Callbacks { return websub.Callbacks{Base: *s.base.Load(), Secret: secret} }
		intends := func(ctx context.Context, what crawl.WebSubQuestion) (crawl.WebSubIntent, error) {
			return intends(ctx, q, spec, what)
		}
		if s.websub, err = NewWebSub(callbacks, spec.Shards, put, intends, o.Registry, o.Log); err == nil {
			s.websub.proxies = o.Proxies
			s.hubsAt, err = open("tcp", o.WebSub)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("updates-websub %s: %w; choose another address, for example 127.0.0.1:8088", o.WebSub, err), s.Close())
		}
		o.Log.Info("WebSub deliveries are accepted", "address", s.hubsAt.Addr().String())
	}
	return s, nil
}

// intends asks the shard of a topic whether a hub was asked for what it now wants confirmed.
func intends(ctx context.Context, q *queue.Conn, spec crawl.Spec, what crawl.WebSubQuestion) (crawl.WebSubIntent, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	running := ask.Running{NC: q.NC, Name: crawl.Names(spec.Name), Shards: spec.Shards}
	intent, found, err := questions.WebSub.Ask(ctx, running, what)
	if found {
		return intent, nil
	}
	return intent, err
}

// IndexNowAddr is where submissions are accepted; nil means nowhere.
func (s *Service) IndexNowAddr() net.Addr {
	if s.at == nil {
		return nil
	}
	return s.at.Addr()
}

// Addr is where mail is accepted; nil without a listener.
func (s *Service) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// SetSpec applies another spec of the same crawl.
func (s *Service) SetSpec(spec crawl.Spec) error {
	s.base.Store(&spec.UpdatesWebSub)
	s.receiver.addresses.Store(&Addresses{Mailbox: spec.UpdatesMail, Secret: s.secret})
	return nil
}

// Run receives reports until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if s.listener != nil {
		domain, err := os.Hostname()
		if err != nil {
			domain = "localhost"
		}
		g.Go(func() error { return NewListener(s.receiver, s.o.LMTP, domain).Serve(ctx, s.listener) })
	}
	if s.maildir != nil {
		g.Go(func() error { return s.maildir.Run(ctx) })
	}
	if s.at != nil {
		g.Go(func() error { return s.indexnow.Serve(ctx, s.at) })
	}
	if s.hubsAt != nil {
		g.Go(func() error { return s.websub.Serve(ctx, s.hubsAt) })
	}
	return g.Wait()
}

// Close closes a service on which Run was not called.
func (s *Service) Close() error {
	for _, l := range []net.Listener{s.listener, s.at, s.hubsAt} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
	}
	return nil
}
