package queue

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	neturl "net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options says which NATS server to connect to and with which credentials. The zero value means the
// server at nats://127.0.0.1:4222.
type Options struct {
	URL       string                     // one or more addresses, separated by commas
	InProcess nats.InProcessConnProvider // a server in this process; URL is ignored then
	Name      string                     // shown in the server's list of connections
	// Inbox is a subject token. Answers arrive on subjects below _INBOX.<Inbox>, so that a server
	// can allow each role to read only its own answers. Empty: below _INBOX.
	Inbox string
	// Dial opens the connections to the addresses of URL. nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	User, Password string
	// PasswordFile contains the password of User. It is read each time a connection is made, so
	// that the password may change while the process runs. Password is used if the file cannot be
	// read.
	PasswordFile string
	CredsFile    string // a .creds file (JWT and seed)
	NKeyFile     string // a seed file
	CAFile       string // PEM; trusted in addition to the certificates of the system
	CertFile     string // PEM; with KeyFile: a client certificate
	KeyFile      string
	Replicas     int // of streams and buckets that do not set the number themselves; 0: 1
}

// Conn is a connection that reconnects without a limit on attempts. Its methods may be called from
// any goroutine.
type Conn struct {
	NC *nats.Conn
	JS jetstream.JetStream

	log       *slog.Logger
	replicas  int
	inProcess bool // the server runs in this process
	pub       *publisher
	refused   refusals

	mu sync.Mutex
	// guarded by mu; session ends, and is replaced, at every disconnect and reconnect
	session    context.Context
	end        func() // guarded by mu; ends session
	lastLogged string // guarded by mu; the message that asyncError logged last
}

// writeWithin limits how long a write waits for a peer that reads nothing. nats.go waits a minute
// and keeps the lock of the connection meanwhile: no ping would reveal that the peer is dead, and
// nobody could publish or even close the connection.
const writeWithin = 5 * time.Second

// dialWithin limits how long opening a connection takes.
const dialWithin = 5 * time.Second

// dialer makes connections that close when a write fails. The reader of nats.go notices the closed
// connection and reconnects.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	c, err := d(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return frail{c}, nil
}

type frail struct{ net.Conn }

// Write closes the connection if the write fails.
func (c frail) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close()
	}
	return n, err
}

// Dial connects and checks that JetStream answers. A nil log means slog.Default().
func Dial(ctx context.Context, o Options, log *slog.Logger) (*Conn, error) {
	c := &Conn{
		log:       cmp.Or(log, slog.Default()),
		replicas:  max(o.Replicas, 1),
		inProcess: o.InProcess != nil,
		refused:   refusals{who: o.who()},
	}
	c.session, c.end = context.WithCancel(context.Background())
	opts, err := o.options(c)
	if err != nil {
		return nil, err
	}
	url := cmp.Or(o.URL, nats.DefaultURL)
	c.NC, err = nats.Connect(url, opts...)
	if name := (x509.HostnameError{}); errors.As(err, &name) {
		// A server announces the other addresses of its cluster, and the returned error is that of
		// the address tried last, which may not be in its certificate. The user must see what is
		// wrong with the addresses that the user configured.
		c.NC, err = nats.Connect(url, append(opts, nats.IgnoreDiscoveredServers())...)
	}
	if err != nil {
		return nil, dialError(o, shown(url), err)
	}
	if c.JS, err = jetstream.New(c.NC); err == nil {
		err = jetStreamError(c.where(o, shown(url)), c.askForJetStream(ctx))
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

// askForJetStream repeats its request until JetStream answers, because a cluster may be electing a
// leader.
func (c *Conn) askForJetStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	b := backoff{least: 50 * time.Millisecond, most: time.Second}
	for {
		err := c.apiTry(ctx, c.current(), "", func(ctx context.Context) error {
			_, err := c.JS.AccountInfo(ctx)
			return err
		})
		if err == nil || !Unanswered(err) || errors.Is(err, nats.ErrNoResponders) || b.wait(ctx, nil) != nil {
			return err
		}
	}
}

// who describes the user that we connect as.
func (o Options) who() string {
	switch {
	case o.User != "":
		return fmt.Sprintf("user %q", o.User)
	case o.CredsFile != "":
		return "the credentials of " + o.CredsFile
	case o.NKeyFile != "":
		return "the nkey of " + o.NKeyFile
	}
	return "a client without credentials"
}

func (o Options) options(c *Conn) ([]nats.Option, error) {
	dial := o.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	opts := []nats.Option{
		nats.Name(cmp.Or(o.Name, "curtsy")),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.SetCustomDialer(dialer(dial)),
		nats.Timeout(5 * time.Second), // for the first message, which a busy server may delay
		nats.FlusherTimeout(writeWithin),
		// Three missed pings reveal a dead peer within one term of ownership.
		nats.PingInterval(2 * time.Second),
		nats.MaxPingsOutstanding(2),
		// Nothing is buffered for sending after a reconnect. A renewal that goes out seconds late
		// is worse than a failed one, and Append and Send retry by themselves.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("the connection to NATS is lost; trying to reconnect", "err", err)
			}
			c.change()
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.log.Info("connection to NATS is back", "server", nc.ConnectedServerName())
			c.refused.forget()
			c.news("")
			c.change()
		}),
		nats.IgnoreAuthErrorAbort(), // a server that is just starting may not know its users yet
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) { c.asyncError(s, err) }),
	}
	if o.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(nats.InboxPrefix+o.Inbox))
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess),
			// A server in this process either runs or does not, so a long delay has no use.
			nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfoHandler(func() (user, password string) { return o.User, o.password(c.log) }))
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

// password returns the current password of User.
func (o Options) password(log *slog.Logger) string {
	if o.PasswordFile == "" {
		return o.Password
	}
	body, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		log.Warn("the NATS password file cannot be read again; using the password read at the start", "err", err)
		return o.Password
	}
	return strings.TrimRight(string(body), "\r\n")
}

func (c *Conn) where(o Options, url string) string {
	if o.InProcess != nil {
		return "the embedded NATS server"
	}
	return url
}

// shown returns a list of addresses without the passwords and tokens that they may contain.
func shown(urls string) string {
	all := strings.Split(urls, ",")
	for i, u := range all {
		scheme, rest, ok := strings.Cut(u, "://")
		if !ok {
			scheme, rest = "", u
		} else {
			scheme += "://"
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			all[i] = scheme + rest[at+1:]
		}
	}
	return strings.Join(all, ",")
}

// dialError turns an error of nats.Connect into one that tells the user what to do.
func dialError(o Options, url string, err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case o.InProcess != nil:
		return fmt.Errorf("connect to the embedded NATS server: %w", err)
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("nothing answers at %s: start one with `nats-server -js`, or leave out --nats: %w", url, err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrNkeysNotSupported):
		return fmt.Errorf("%s refuses the credentials of %s: use a user and password (--nats-user, --nats-password-file), "+
			"a .creds file (--nats-creds) or an nkey (--nats-nkey) that it accepts: %w", url, o.who(), err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has a certificate of an unknown CA: give the CA's file with --nats-ca: %w", url, err)
	case errors.As(err, &name):
		return fmt.Errorf("the certificate of %s is not for this name: use one of its names in --nats: %w", url, err)
	case errors.Is(err, nats.ErrTLS), strings.Contains(err.Error(), "remote error: tls:"):
		return fmt.Errorf("%s refuses the TLS connection; if it requires a client certificate, use --nats-cert and --nats-key: %w", url, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%s does not use TLS: configure a certificate on the server, or leave out --nats-ca, --nats-cert and tls://: %w", url, err)
	}
	if bad := (*neturl.Error)(nil); errors.As(err, &bad) {
		err = bad.Err // without the configured URL, which contains the password
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

// Close closes the connection at once. Calls that wait for it return.
func (c *Conn) Close() error {
	c.NC.Close()
	c.change()
	return nil
}

// change wakes all goroutines that watch the connection.
func (c *Conn) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	c.session, c.end = context.WithCancel(context.Background())
}

// news reports whether what differs from the argument of the previous call.
func (c *Conn) news(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.lastLogged
	c.lastLogged = what
	return what != was
}

// watch returns a channel that is closed at the next disconnect or reconnect.
func (c *Conn) watch() <-chan struct{} { return c.current().Done() }

func (c *Conn) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}
