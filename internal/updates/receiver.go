package updates

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Options configure a Receiver.
type Options struct {
	Addresses Addresses
	Shards    int // of the crawl
	// Append appends an encoded crawl.Event to a shard's log, and returns when it is stored there.
	Append func(ctx context.Context, shard int, event []byte) error
	// Trusted is the authserv-id (RFC 8601 §2.5) of the operator's own mail server. Only the
	// Authentication-Results of that server count; if it is empty, none do.
	Trusted string
	// LookupTXT looks up the keys of DKIM signatures; nil means the system's resolver.
	LookupTXT func(ctx context.Context, domain string) ([]string, error)
	Metrics   prometheus.Registerer // nil: none
	Log       *slog.Logger
}

// Receiver turns mails into reports in the logs of their sites' shards. Its methods may be called
// concurrently.
type Receiver struct {
	o         Options
	addresses atomic.Pointer[Addresses]
	mails     *prometheus.CounterVec
}

// New returns a Receiver. Without a mailbox it accepts no address.
func New(o Options) (*Receiver, error) {
	if len(o.Addresses.Secret) < 16 || o.Shards < 1 || o.Append == nil || o.Log == nil {
		return nil, errors.New("updates: Options.Addresses.Secret, Shards, Append and Log are required")
	}
	if o.LookupTXT == nil {
		o.LookupTXT = lookupTXT
	}
	r := &Receiver{o: o, mails: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "curtsy_updates_mails_total", Help: "Mails to report addresses of sites, by outcome.",
	}, []string{"outcome"})}
	r.addresses.Store(&o.Addresses)
	if o.Metrics != nil {
		if err := o.Metrics.Register(r.mails); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Receive receives a mail to an address for which Addresses.Has returns true. It returns nil when
// the report is in the log, a *Refused when the mail is rejected, and another error when the mail
// should be sent again later. Receiving a mail twice changes nothing.
func (r *Receiver) Receive(ctx context.Context, address string, mail []byte) error {
	err := r.receive(ctx, address, mail)
	outcome := "taken"
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		outcome = "refused"
		r.o.Log.Warn("a mail to a site's report address is refused", "reason", refused.Reason, "bytes", len(mail))
	} else if err != nil {
		outcome = "later"
		r.o.Log.Error("a mail cannot be accepted now", "err", err)
	}
	r.mails.WithLabelValues(outcome).Inc()
	return err
}

func (r *Receiver) receive(ctx context.Context, address string, mail []byte) error {
	if len(mail) > maxMail {
		return refuse("the mail is larger than %d MiB", maxMail>>20)
	}
	if err := r.authentic(ctx, mail); err != nil {
		return err
	}
	body, err := text(mail)
	if err != nil {
		return err
	}
	site, reports, err := Reports(body, time.Now())
	if err != nil {
		asks, ok := question(body, time.Now())
		if !ok {
			return refuse("%v", err)
		}
		site, reports = asks.Origin, []crawl.Report{asks}
	}
	if !r.addresses.Load().isFor(address, site) {
		return refuse("this address is not for reports of %s", site)
	}
	to := crawl.ShardOf(site.Host, r.o.Shards)
	for i := range reports {
		reports[i].Address = address
		ev := crawl.Event{Reports: reports[i : i+1]}
		if err := r.o.Append(ctx, to, crawl.AppendEvent(nil, &ev)); err != nil {
			return fmt.Errorf("report of %s: %w", site, err)
		}
	}
	return nil
}

// maxAttempts is how many registrations of a site isFor tries.
const maxAttempts = 1000

// isFor reports whether an address, as Has returned it, was made for a site.
func (a Addresses) isFor(address string, o canon.Origin) bool {
	for n := range maxAttempts {
		if a.For(o, n) == address {
			return true
		}
	}
	return false
}
