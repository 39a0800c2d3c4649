package updates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/time/rate"

	"github.com/curtsy/curtsy/internal/fair"
)

// The limits of a listener, which anyone may connect to.
const (
	maxConns      = 64               // at the same time
	largeMail     = 256 << 10        // bytes from which on a mail counts as large
	maxTogether   = 2                // large mails in memory at the same time
	mailRate      = rate.Limit(2)    // mails a second, of all senders together
	mailBurst     = 60               // mails at once
	senderPart    = 2                // of these for one block of addresses, and for one address
	maxSenders    = 10_000           // of either, counted separately
	maxRecipients = 10               // of one mail
	idle          = 2 * time.Minute  // for a command or a part of a mail
	patience      = 30 * time.Second // for appending a mail to the log
)

// Listener is the SMTP or LMTP server to which sites, or a mail server of the operator, send
// reports.
type Listener struct {
	r       *Receiver
	LMTP    bool          // the local protocol (RFC 2033), for a mail server that delivers to us
	Domain  string        // named in the greeting
	large   *fair.Queue   // a unit for each large mail in memory
	limiter *rate.Limiter // of mails
	senders *fair.Rates[fair.Party]
	log     *slog.Logger
}

// NewListener returns a listener for a Receiver.
func NewListener(r *Receiver, lmtp bool, domain string) *Listener {
	return &Listener{
		r: r, LMTP: lmtp, Domain: domain, limiter: rate.NewLimiter(mailRate, mailBurst), log: r.o.Log,
		large:   fair.NewQueue(fair.Options{Capacity: maxTogether, Share: 1, Most: 1}),
		senders: fair.NewRates[fair.Party](mailRate/senderPart, mailBurst/senderPart, maxSenders),
	}
}

// Serve receives mails from ln until ctx ends, which closes ln and all connections. The sending
// server sends a mail again that was not acknowledged.
func (l *Listener) Serve(ctx context.Context, ln net.Listener) error {
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		g, _ := c.Conn().(*guest)
		return &session{l: l, ctx: ctx, guest: g}, nil
	}))
	srv.LMTP, srv.Domain = l.LMTP, l.Domain
	srv.MaxMessageBytes, srv.MaxRecipients = maxMail, maxRecipients
	srv.ReadTimeout, srv.WriteTimeout = idle, idle
	srv.ErrorLog = slog.NewLogLogger(l.log.Handler(), slog.LevelDebug)
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	err := srv.Serve(newGuests(ln, l.log))
	if !stop() {
		return nil // ctx ended
	}
	return fmt.Errorf("mail listener %s: %w", ln.Addr(), err)
}

// session is one connection.
type session struct {
	l   *Listener
	ctx context.Context
	to  []string

	guest *guest // its connection; nil: it did not come through guests
}

func (s *session) Reset()        { s.to = nil }
func (s *session) Logout() error { return nil }

// the sender's address proves nothing (formats §6.5)
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	address, ok := s.l.r.addresses.Load().Has(to)
	if !ok {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such address"}
	}
	if s.guest != nil {
		s.guest.known.Store(true)
	}
	s.to = append(s.to, address)
	return nil
}

// parties are on whose behalf a mail is received: the block of addresses that sends it, unless it
// is a mail server of ours, and its recipients. A recipient stands for the site for which it was
// made, because only that site knows it.
func (s *session) parties() (list []fair.Party) {
	if s.guest != nil {
		if who := strangerAt(fair.AddrOf(s.guest.RemoteAddr().String())); !who.IsZero() {
			list = append(list, who)
		}
	}
	for _, address := range s.to {
		list = append(list, fair.Registered(address))
	}
	return list
}

// Data receives one mail. It is acknowledged only when it is in the log for every recipient.
func (s *session) Data(from io.Reader) error {
	parties, now := s.parties(), time.Now()
	many := func(p fair.Party) bool { return !s.l.senders.Allow(now, p, 1) }
	if slices.ContainsFunc(parties, many) || !s.l.limiter.Allow() {
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "too many reports at the same time; try again later"}
	}
	// A slow sender blocks nobody until its mail is large, and then only its own large mails.
	mail, err := io.ReadAll(io.LimitReader(from, largeMail))
	if len(mail) == largeMail && err == nil {
		ctx, cancel := context.WithTimeout(s.ctx, idle)
		large, failed := s.l.large.Acquire(ctx, 1, parties...)
		cancel()
		if failed != nil {
			return busy
		}
		defer large.Release(0)
		mail, err = io.ReadAll(io.MultiReader(bytes.NewReader(mail), from))
	}
	if err != nil {
		return err // too large, or the sender is gone: go-smtp has a reply for it
	}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for _, address := range s.to {
		err := s.l.r.Receive(ctx, address, mail)
		if refused := (*Refused)(nil); errors.As(err, &refused) {
			return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: printable(refused.Reason)}
		}
		if err != nil {
			return busy
		}
	}
	return nil
}

var busy = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "not possible now; try again later"}

// printable makes a reason safe for a reply, because it may quote text of the sender.
func printable(reason string) string {
	b := []byte(reason)
	for i := range b {
		if b[i] < ' ' || b[i] > '~' {
			b[i] = '?'
		}
	}
	return string(b[:min(len(b), 200)])
}
