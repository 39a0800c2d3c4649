package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options says which NATS to talk to and as whom. The zero value means the server at nats://127.0.0.1:4222.
type Options struct {
	URL       string                     // one or more addresses, separated by commas
	InProcess nats.InProcessConnProvider // a server in this process; then URL is not used
	Name      string                     // shown in the server's list of connections

	User, Password string
	CredsFile      string // a .creds file (JWT and seed)
	NKeyFile       string // a seed file
	CAFile         string // PEM; trusted beside the system's own
	CertFile       string // PEM; with KeyFile: a client certificate
	KeyFile        string
	Replicas       int // of streams and buckets that do not say it themselves; 0: 1
}

// Conn is a connection that reconnects for ever. Its methods may be called from any goroutine.
type Conn struct {
	NC *nats.Conn
	JS jetstream.JetStream

	log      *slog.Logger
	replicas int
	pub      *publisher

	mu      sync.Mutex
	session context.Context // guarded by mu; ends, and is replaced, at every disconnect and reconnect
	end     func()          // guarded by mu; ends session
	hooks   []func()        // guarded by mu
}

// Dial connects and checks that JetStream answers. A nil log means slog.Default().
func Dial(ctx context.Context, o Options, log *slog.Logger) (*Conn, error) {
	c := &Conn{
		log:      cmp.Or(log, slog.Default()),
		replicas: max(o.Replicas, 1),
	}
	c.session, c.end = context.WithCancel(context.Background())
	opts, err := o.options(c)
	if err != nil {
		return nil, err
	}
	url := cmp.Or(o.URL, nats.DefaultURL)
	if c.NC, err = nats.Connect(url, opts...); err != nil {
		return nil, dialError(o, url, err)
	}
	if c.JS, err = jetstream.New(c.NC); err == nil {
		actx, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err = c.JS.AccountInfo(actx)
		cancel()
		err = jetStreamError(c.where(o, url), err)
	}
	if err == nil {
		c.pub, err = newPublisher(c)
	}
	if err != nil {
		c.NC.Close()
		return nil, err
	}
	return c, nil
}

func (o Options) options(c *Conn) ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Name(cmp.Or(o.Name, "curtsy")),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.Timeout(5 * time.Second),
		nats.PingInterval(5 * time.Second), // a dead peer is noticed after three of them
		nats.MaxPingsOutstanding(2),
		// Nothing is kept to be sent after a reconnect: a renewal or a lease that goes out seconds late is worse
		// than one that failed, and Append and Send try again by themselves.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("connection to NATS lost, trying again until it is back", "err", err)
			}
			c.change()
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.log.Info("connection to NATS is back", "server", nc.ConnectedServerName())
			for _, f := range c.change() {
				f()
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			c.log.Warn("NATS", "subject", subject, "err", err)
		}),
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess),
			nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0)) // it is here or it is not
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfo(o.User, o.Password))
	}
	if o.CredsFile != "" {
		opts = append(opts, nats.UserCredentials(o.CredsFile))
	}
	if o.NKeyFile != "" {
		nk, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("nkey file %s: %w", o.NKeyFile, err)
		}
		opts = append(opts, nk)
	}
	if o.CAFile != "" {
		opts = append(opts, nats.RootCAs(o.CAFile))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("a client certificate needs both its certificate file and its key file")
	}
	if o.CertFile != "" {
		opts = append(opts, nats.ClientCert(o.CertFile, o.KeyFile))
	}
	return opts, nil
}

func (c *Conn) where(o Options, url string) string {
	if o.InProcess != nil {
		return "the embedded NATS server"
	}
	return url
}

// dialError says what to type next.
func dialError(o Options, url string, err error) error {
	switch {
	case o.InProcess != nil:
		return fmt.Errorf("connect to the embedded NATS server: %w", err)
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("nothing answers at %s: start one with `nats-server -js`, or leave out --nats: %w", url, err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return fmt.Errorf("%s refuses the credentials: give user and password, a .creds file or an nkey: %w", url, err)
	}
	return fmt.Errorf("connect to %s: %w", url, err)
}

func jetStreamError(where string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%s has no JetStream: start it with `nats-server -js`: %w", where, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%s has no JetStream for this account: enable it for the account: %w", where, err)
	}
	return fmt.Errorf("ask %s for JetStream: %w", where, err)
}

// Close ends the connection at once; what waits on it returns.
func (c *Conn) Close() error {
	c.NC.Close()
	c.change()
	return nil
}

// OnReconnect has f called after every reconnect, in the connection's own goroutine: f must not block.
func (c *Conn) OnReconnect(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks = append(c.hooks, f)
}

// change wakes whoever watches the connection and returns the hooks.
func (c *Conn) change() []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	c.session, c.end = context.WithCancel(context.Background())
	return append([]func(){}, c.hooks...)
}

// watch is closed at the next disconnect or reconnect.
func (c *Conn) watch() <-chan struct{} { return c.current().Done() }

func (c *Conn) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}
