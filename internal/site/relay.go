package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/wneessen/go-mail"
)

// MailOptions describe the relay through which mails are sent.
type MailOptions struct {
	Relay    string // host:port
	From     string // sender, which also receives bounces
	TLS      string // starttls (required; also ""), tls (from the first byte), none
	User     string // "" for no authentication
	Password string
	Hello    string // our host name; "" is the machine's
}

// relay sends mails, each over a new connection. It may be used concurrently.
type relay struct {
	o    MailOptions
	base *url.URL
	out  string // absolute URL of the page to unsubscribe; the token is appended
	host string
	port int
}

// patience is how long one exchange with the relay may take.
const patience = 15 * time.Second

func newRelay(o MailOptions, base *url.URL) (*relay, error) {
	if err := rup.CheckEmail(o.From); err != nil {
		return nil, fmt.Errorf("mail-from %q: %w", o.From, err)
	}
	host, p, err := net.SplitHostPort(o.Relay)
	port := 0
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || host == "" || port < 1 || port > 65535 {
		return nil, fmt.Errorf("smtp %q: must be a relay's host and port, for example mail.example.org:587", o.Relay)
	}
	r := &relay{o: o, base: base, host: host, port: port}
	_, err = r.client()
	return r, err
}

func (r *relay) client() (*mail.Client, error) {
	opts := []mail.Option{mail.WithPort(r.port), mail.WithTimeout(patience)}
	switch r.o.TLS {
	case "", "starttls":
		opts = append(opts, mail.WithTLSPolicy(mail.TLSMandatory))
	case "tls":
		opts = append(opts, mail.WithSSL())
	case "none":
		opts = append(opts, mail.WithTLSPolicy(mail.NoTLS))
	default:
		return nil, fmt.Errorf("smtp-tls %q: use starttls, tls or none", r.o.TLS)
	}
	if r.o.User != "" {
		opts = append(opts, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(r.o.User), mail.WithPassword(r.o.Password))
	}
	if r.o.Hello != "" {
		opts = append(opts, mail.WithHELO(r.o.Hello))
	}
	return mail.NewClient(r.host, opts...)
}

// check reports whether the relay would accept mails from us.
func (r *relay) check(ctx context.Context) error {
	c, err := r.client()
	if err != nil {
		return err
	}
	if err := c.DialWithContext(ctx); err != nil {
		return fmt.Errorf("relay %s: %w", r.o.Relay, err)
	}
	return c.Close()
}

// send sends a mail to the relay.
func (r *relay) send(ctx context.Context, w *waiting) error {
	msg, err := r.message(w)
	if err != nil {
		return fmt.Errorf("%w: %w", errMailRefused, err)
	}
	c, err := r.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.DialWithContext(ctx); err != nil {
		return fmt.Errorf("%w: %w", errRelay, err)
	}
	err = c.Send(msg)
	_ = c.Close() // after the relay has answered, an error of closing does not matter
	return judge(err)
}

// judge distinguishes errors that concern only this mail from others.
func judge(err error) error {
	var s *mail.SendError
	if !errors.As(err, &s) {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: %w", errRelay, err)
	}
	switch s.Reason {
	case mail.ErrSMTPRcptTo:
		if s.IsTemp() || s.ErrorCode() < 500 {
			return err
		}
		return fmt.Errorf("%w: %w", errAddress, err)
	case mail.ErrSMTPData, mail.ErrSMTPDataClose:
		if s.IsTemp() || s.ErrorCode() < 500 {
			return err
		}
		return fmt.Errorf("%w: %w", errMailRefused, err)
	}
	return fmt.Errorf("%w: %w", errRelay, err)
}

// message makes the mail for a queued message. Its Message-ID is the same each time it is sent.
func (r *relay) message(w *waiting) (*mail.Msg, error) {
	// Checked again, because nothing but an address may get into a header.
	if err := rup.CheckEmail(w.to); err != nil {
		return nil, err
	}
	// The library's 7bit encoding folds lines like quoted-printable, but does not mark them.
	m := mail.NewMsg(mail.WithEncoding(mail.EncodingQP), mail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(r.o.From), m.To(w.to)); err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("RUP report %d of %s", w.Sequence, r.base)
	if w.Sequence == 0 {
		subject = fmt.Sprintf("Do you want RUP reports of %s?", r.base)
	}
	m.Subject(subject)
	m.SetMessageIDWithValue(fmt.Sprintf("rup.%s.%d.%d@%s", strings.ToLower(w.ID), w.Sequence, w.Created.UnixNano(), rup.EmailDomain(r.o.From)))
	m.SetDateWithValue(w.Created)
	// Automatic replies are not wanted (RFC 3834).
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	text := string(w.text)
	if w.out != "" {
		out := r.out + "?token=" + w.out
		m.SetGenHeader("List-Unsubscribe", "<"+out+">")
		// RFC 8058
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
		// This text cannot be mistaken for a line of a report.
		text += "\n-- \nTo stop mails about " + r.base.String() + ", open:\n" + out + "\n"
	}
	m.SetBodyString(mail.TypeTextPlain, text)
	return m, nil
}
