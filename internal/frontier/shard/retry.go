package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// An operator who knows that a server is available again types `curtsy retry`, or names the URL
// again in the crawl's command. Delays caused by failures that we observed are then removed. Delays
// that politeness requires remain: the host's Due, which contains the delay since the last request
// and a Retry-After, is not changed, nor is the adaptive delay.

// ApplyRetry retries at once a URL, or all URLs of a host that failed for a temporary reason. A
// second call only retries what has failed since.
func (s *Passes) ApplyRetry(what string) error {
	if u, err := canon.Parse(what); err == nil {
		h, err := s.ledger.HostNamed(u.Host())
		if h == nil || err != nil {
			return err
		}
		s.askHostAnew(h)
		k, v := s.urls.Lookup(h, u)
		if v == nil {
			return nil
		}
		r, err := urls.DecodeRecord(k, v)
		if err != nil {
			return err
		}
		if changed, err := s.retryOne(h, &r, true); err != nil || !changed {
			return err
		}
		return s.urls.PutURL(k, &r)
	}
	h, err := s.ledger.HostNamed(canon.Host(what))
	if h == nil || err != nil {
		return err
	}
	s.askHostAnew(h)
	return s.passOver(store.BucketRetry, h)
}

// ApplyRefetch queues a URL again whatever its class is, unless a response has arrived since sent.
// It is fetched in its turn; the stored copy is kept until then.
func (s *Passes) ApplyRefetch(what string, sent time.Time) error {
	u, err := canon.Parse(what)
	if err != nil {
		return nil // from another program
	}
	h, err := s.ledger.HostNamed(u.Host())
	if h == nil || err != nil {
		return err
	}
	k, v := s.urls.Lookup(h, u)
	if v == nil {
		return nil
	}
	r, err := urls.DecodeRecord(k, v)
	if err != nil || r.FetchedAt > 0 && r.FetchedAt >= sent.UnixMilli() {
		return err
	}
	s.askHostAnew(h)
	switch {
	case r.Waiting():
		err = s.urls.SetState(h, &r, r.DueNow())
	case r.Class != crawl.Queued:
		err = s.mirrors.Refetch(h, &r)
	}
	if err != nil {
		return err
	}
	return s.urls.PutURL(k, &r)
}

// askHostAnew makes a host's robots.txt files that could not be read due as soon as the host's Due
// permits.
func (s *Passes) askHostAnew(h *hosts.Host) {
	for i := range h.Origins {
		if o := &h.Origins[i]; o.History.Failures > 0 {
			o.RetryRobots()
		}
	}
}

// retryOne retries at once a URL that waits for another attempt, or that failed for a temporary
// reason. If the operator named the URL, the reason does not matter. The caller writes its record
// if it changed.
func (s *Passes) retryOne(h *hosts.Host, r *urls.Record, named bool) (changed bool, err error) {
	switch {
	case r.Waiting():
		return true, s.urls.SetState(h, r, r.DueNow())
	case r.Class == crawl.Failed && (named || r.Reason.Has(crawl.MayPass)):
		return true, s.mirrors.Refetch(h, r)
	}
	return false, nil
}

// retrySome is the pass over the URLs of hosts that are to be retried.
func (s *Passes) retrySome(now time.Time) (more bool, err error) {
	one := func(h *hosts.Host, r *urls.Record) (bool, error) { return s.retryOne(h, r, false) }
	return s.hostPass(store.BucketRetry, one, func(h *hosts.Host) error {
		s.urls.LoadLater()
		s.ledger.Log.Info("all failed URLs of a host are queued again", "host", h.Name, "queued", h.Queued)
		return nil
	})
}
