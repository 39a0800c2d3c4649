package rup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// ServerOptions describe what a Server offers and where it stores registrations. The zero value of
// a field means its default; Info, Base, Store and Index have none.
type ServerOptions struct {
	Info  *Info  // the offer; its Text must not fail
	Base  string // URLBase of reports: an absolute http or https URL
	Store Store
	Index Index // nil only if Info has no MaxQuerySpan

	// Closed reports whether the site's robots.txt closes a path, with its query, to "*": such
	// paths are never listed (formats §6.2). Nil closes nothing.
	Closed func(pathQuery string) bool
	// Confirm asks a robot's address whether it wants to be registered (formats §6.5). It is called
	// after the registration is stored as Pending, at registration and when the address changes.
	// The code that receives the answer clears Pending in the Store. Nil registers without a
	// question.
	Confirm func(context.Context, Registration) error
	// ConfirmWithin is how long a Pending registration prevents others from registering its
	// address; 0 = 48 h.
	ConfirmWithin time.Duration

	PerDomain int // registrations with addresses in one domain; 0 = 20
	// the same for aliases of one mailbox, see Mailbox; 0 = 3: a robot that has lost its key uses
	// another alias
	PerMailbox       int
	MaxRegistrations int // of all; 0 = 10,000
	// requests from one address to register, or to move a registration to another e-mail address;
	// 0 = 10
	RegisterPerHour int
	IndexPerHour    int // GetIndex requests from one address; 0 = 60

	// Client returns the address from which a request comes, or the zero Addr if it is not known.
	// Nil uses Request.RemoteAddr, which is the address of a proxy if there is one.
	Client func(*http.Request) netip.Addr
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default()
}

// Server answers the CGI URL of a site (formats §6.2), whatever the path of a request. It may be
// used concurrently.
type Server struct {
	opt              ServerOptions
	base             *base
	registers, index *limiter
	indexing         chan struct{} // has a token for each one that is being answered
	started          time.Time
}

// maxIndexing is how many GetIndex requests are answered at the same time: each may take as much
// memory as a report.
const maxIndexing = 4

// NewServer checks the options.
func NewServer(opt ServerOptions) (*Server, error) {
	if opt.Info == nil || opt.Store == nil {
		return nil, errors.New("rup: a server needs Info and Store")
	}
	if _, err := opt.Info.Text(); err != nil {
		return nil, err
	}
	if opt.Index == nil && opt.Info.MaxQuerySpan != (Span{}) {
		return nil, errors.New("rup: MaxQuerySpan is offered, but there is no Index to answer from")
	}
	b, err := parseBase(opt.Base)
	if err != nil {
		return nil, fmt.Errorf("rup: Base %q: %w; use for example https://www.example.org/", opt.Base, err)
	}
	number := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	number(&opt.PerDomain, 20)
	number(&opt.PerMailbox, 3)
	number(&opt.MaxRegistrations, 10_000)
	number(&opt.RegisterPerHour, 10)
	number(&opt.IndexPerHour, 60)
	if opt.ConfirmWithin <= 0 {
		opt.ConfirmWithin = 48 * time.Hour
	}
	if opt.Closed == nil {
		opt.Closed = func(string) bool { return false }
	}
	if opt.Client == nil {
		opt.Client = remoteAddr
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	return &Server{opt: opt, base: b, started: opt.Now(), indexing: make(chan struct{}, maxIndexing), registers: newLimiter(opt.RegisterPerHour), index: newLimiter(opt.IndexPerHour)}, nil
}

func remoteAddr(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.ParseAddr(host)
	return addr
}

// handle executes a request and returns the text of the answer's page.
func (s *Server) handle(ctx context.Context, client netip.Addr, r Request) (string, error) {
	switch r.Action {
	case Register:
		if err := s.limit(s.registers, client); err != nil {
			return "", err
		}
		return s.register(ctx, r.Preferences)
	case Unregister:
		return s.unregister(ctx, r.Credentials)
	case ModifyPreferences:
		// The address may belong to anybody, and will be asked by mail.
		if r.Preferences.Email != "" {
			if err := s.limit(s.registers, client); err != nil {
				return "", err
			}
		}
		return s.modify(ctx, r.Credentials, r.Preferences)
	case GetSequenceNumber:
		reg, err := s.whoIs(ctx, r.Credentials)
		return fmt.Sprintf("SequenceNumber=%d", reg.Sequence), err
	}
	if err := s.limit(s.index, client); err != nil {
		return "", err
	}
	select {
	case s.indexing <- struct{}{}:
		defer func() { <-s.indexing }()
		return s.getIndex(ctx, r)
	default:
		return "", &Error{Status: http.StatusServiceUnavailable, Reason: "the server is busy; please try again later", RetryAfter: 30 * time.Second}
	}
}

func (s *Server) limit(l *limiter, client netip.Addr) error {
	if wait := l.take(s.opt.Now(), client); wait > 0 {
		return &Error{Status: http.StatusServiceUnavailable, Reason: "too many requests; please try again later", RetryAfter: wait}
	}
	return nil
}

func (s *Server) register(ctx context.Context, p Preferences) (string, error) {
	var secret [24]byte // 192 bits
	rand.Read(secret[:])
	key := base64.RawURLEncoding.EncodeToString(secret[:])
	now := s.opt.Now()
	r := Registration{
		ID: rand.Text(), Email: p.Email, KeyHash: hashOf(Key(key)), Latency: p.Latency,
		Exclude: p.Exclude, IncludeOnly: p.IncludeOnly, Registered: now,
	}
	s.pend(&r)
	if r.Latency == (Latency{}) {
		r.Latency = s.opt.Info.DefaultLatency()
	}
	err := s.opt.Store.Update(ctx, func(tx Registrations) error {
		if err := s.admit(tx, r.Email, ""); err != nil {
			return err
		}
		return tx.Put(r)
	})
	if err != nil {
		return "", err
	}
	if err := s.confirm(ctx, r, nil); err != nil {
		return "", err
	}
	return "RegistrationKey: " + key, nil
}

// pend marks a registration whose address must still confirm.
func (s *Server) pend(r *Registration) {
	if s.opt.Confirm != nil {
		r.Pending, r.Asked = true, s.opt.Now()
	}
}

// confirm asks the address of a registration that was just stored. If that fails, the previous
// state is restored, unless somebody else has registered meanwhile: an address that is never asked
// would stay Pending forever.
func (s *Server) confirm(ctx context.Context, r Registration, before *Registration) error {
	if s.opt.Confirm == nil {
		return nil
	}
	err := s.opt.Confirm(ctx, r)
	if err == nil {
		return nil
	}
	undo := s.opt.Store.Update(context.WithoutCancel(ctx), func(tx Registrations) error {
		now, _, err := tx.Get(EmailKey(r.Email))
		if err == nil && now.ID == r.ID {
			err = tx.Delete(EmailKey(r.Email))
		}
		if err != nil || before == nil {
			return err
		}
		if _, taken, err := tx.Get(EmailKey(before.Email)); err != nil || taken {
			return err
		}
		return tx.Put(*before)
	})
	return errors.Join(err, undo)
}

// admit returns why an address may not be registered: it is registered already, or there are too
// many registrations. of is the address that it replaces, which no longer counts for its domain and
// mailbox.
func (s *Server) admit(tx Registrations, email, of string) error {
	old, taken, err := tx.Get(EmailKey(email))
	if err != nil {
		return err
	}
	if taken {
		if !old.Pending || s.opt.Now().Sub(old.Asked) < s.opt.ConfirmWithin {
			return bad(paramEmail, "already registered; if you lost the key, ask the webmaster")
		}
		return tx.Delete(EmailKey(email)) // it was never confirmed
	}
	domain := EmailDomain(email)
	n, err := tx.Count(domain)
	if err != nil {
		return err
	}
	if domain != EmailDomain(of) && n >= s.opt.PerDomain {
		return bad(paramEmail, "too many registrations from that domain; ask the webmaster")
	}
	box := Mailbox(email)
	if n, err = tx.Count(box); err != nil {
		return err
	}
	if (of == "" || box != Mailbox(of)) && n >= s.opt.PerMailbox {
		return bad(paramEmail, "too many registrations with addresses of that mailbox; unregister one, or ask the webmaster")
	}
	if of != "" {
		return nil
	}
	if n, err = tx.Count(""); err != nil {
		return err
	}
	if n >= s.opt.MaxRegistrations {
		return &Error{Status: http.StatusServiceUnavailable, Reason: "no more robots can be registered here", RetryAfter: 24 * time.Hour}
	}
	return nil
}

func (s *Server) unregister(ctx context.Context, who Credentials) (string, error) {
	err := s.opt.Store.Update(ctx, func(tx Registrations) error {
		r, err := s.find(tx, who)
		if err != nil {
			return err
		}
		return tx.Delete(EmailKey(r.Email))
	})
	return "Unregistered. No more reports will be sent.", err
}

func (s *Server) modify(ctx context.Context, who Credentials, p Preferences) (string, error) {
	var r, before Registration
	moved := false
	err := s.opt.Store.Update(ctx, func(tx Registrations) (err error) {
		if before, err = s.find(tx, who); err != nil {
			return err
		}
		r = before
		if p.Latency != (Latency{}) {
			r.Latency = p.Latency
		}
		if p.Exclude != nil {
			r.Exclude = p.Exclude
		}
		if p.IncludeOnly != nil {
			r.IncludeOnly = p.IncludeOnly
		}
		if len(r.Exclude) > 0 && len(r.IncludeOnly) > 0 {
			return bad(paramExclude, "%v: clear the other one with an empty value", errBoth)
		}
		if p.Email != "" {
			r.Email = p.Email
			if moved = EmailKey(r.Email) != EmailKey(before.Email); moved {
				s.pend(&r)
				if err := s.admit(tx, r.Email, before.Email); err != nil {
					return err
				}
				if err := tx.Delete(EmailKey(before.Email)); err != nil {
					return err
				}
			}
		}
		return tx.Put(r)
	})
	if err == nil && moved {
		err = s.confirm(ctx, r, &before)
	}
	return "Preferences changed.", err
}

func (s *Server) whoIs(ctx context.Context, who Credentials) (r Registration, err error) {
	err = s.opt.Store.View(ctx, func(tx Registrations) error {
		r, err = s.find(tx, who)
		return err
	})
	return r, err
}

// find returns the registration of credentials. A wrong key and an unknown address fail with the
// same error, and in the same time.
func (s *Server) find(tx Registrations, who Credentials) (Registration, error) {
	r, ok, err := tx.Get(EmailKey(who.Email))
	if err != nil {
		return Registration{}, err
	}
	stored := r.KeyHash
	if !ok || len(stored) != sha256.Size {
		stored, ok = make([]byte, sha256.Size), false
	}
	if subtle.ConstantTimeCompare(stored, hashOf(who.Key)) != 1 || !ok {
		return Registration{}, bad(paramKey, "it does not belong to a registered address")
	}
	return r, nil
}

func hashOf(k Key) []byte {
	sum := sha256.Sum256([]byte(k))
	return sum[:]
}

// getIndex answers with the changes within a span: for strangers without a number and without a
// filter, for robots with both.
func (s *Server) getIndex(ctx context.Context, r Request) (string, error) {
	var who Registration
	if r.Credentials != (Credentials{}) {
		var err error
		if who, err = s.whoIs(ctx, r.Credentials); err != nil {
			return "", err
		}
	}
	report, err := s.report(ctx, who, back(s.opt.Now(), r.Span.Days()), MaxPaths)
	if errors.Is(err, errTooMany) {
		return "", bad(paramSpan, "more than %d changes: ask for a shorter span, or crawl the site", MaxPaths)
	}
	if err != nil {
		return "", err
	}
	text, left := report.Text()
	if len(left) > 0 {
		s.opt.Log.Warn("some changes do not fit into a report", "count", len(left), "first", left[0].Path, "reason", left[0].Reason)
	}
	if len(text) > MaxReport {
		return "", bad(paramSpan, "more than %d bytes of changes: ask for a shorter span, or crawl the site", MaxReport)
	}
	return string(text), nil
}

var errTooMany = errors.New("too many changes")

// Report returns the changes at or after since that a robot may see: those that its filter wants
// and robots.txt does not close. The number is that of the last mailed report; the code that mails
// this one increases it. There may be more changes than one mail may contain: see Report.Parts.
func (s *Server) Report(ctx context.Context, to Registration, since time.Time) (*Report, error) {
	return s.report(ctx, to, since, 0)
}

func (s *Server) report(ctx context.Context, to Registration, since time.Time, most int) (*Report, error) {
	if s.opt.Index == nil {
		return nil, errors.New("rup: no Index to report from")
	}
	filter, err := NewFilter(to.Exclude, to.IncludeOnly)
	if err != nil {
		return nil, fmt.Errorf("filter of registration %s: %w", to.ID, err)
	}
	r := &Report{Sequence: to.Sequence, Base: s.base.String()}
	err = s.opt.Index.Changes(ctx, since, func(e Entry) error {
		u, err := s.base.resolve(e.URL)
		if err != nil {
			s.opt.Log.Warn("a change that is not of this site", "url", e.URL, "reason", err)
			return nil
		}
		if s.opt.Closed(pathQueryOf(u)) || !filter.Wants(u) {
			return nil
		}
		if len(r.Entries) == 2*most && most > 0 {
			r.Entries = latest(r.Entries)
		}
		if e.URL = u; len(r.Entries) == 2*most && most > 0 {
			return errTooMany
		}
		r.Entries = append(r.Entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r.Entries = latest(r.Entries); most > 0 && len(r.Entries) > most {
		return nil, errTooMany
	}
	return r, nil
}
