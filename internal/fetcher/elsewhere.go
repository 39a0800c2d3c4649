package fetcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A rendered page may need something of another host. It is requested in a visit to that host,
// which the host's frontier grants as it grants all others, while the visit of the page goes on. So
// a visit to one host waits for one to another, and two such visits could wait for each other. The
// fetcher sees that before, and puts the page that asked last back. If the visits are those of two
// fetchers, both give up after elsewhereWait, and their pages are rendered without that request.

const (
	// elsewhereWait is how long a page waits for a visit to another host. A crawl that visits the
	// host as well lets others go in between, after about ten seconds.
	elsewhereWait = time.Minute
	// elsewhereAgain is how long a host is not asked for again on behalf of the same host, after
	// that was in vain.
	elsewhereAgain = 10 * time.Minute
	// mostInVain is how many pairs of hosts are remembered for that.
	mostInVain = 4096
)

// elsewhere is which visits wait for one to another host.
type elsewhere struct {
	mu     sync.Mutex // guards the fields below
	waits  map[canon.Host]canon.Host
	inVain map[hostPair]time.Time // until when
}

type hostPair struct{ from, to canon.Host }

// errInVain is why a host is not asked for.
var errInVain = errors.New("its host could not be visited in time")

// Elsewhere calls do with a visit to the host of an origin, on behalf of a visit to the host from.
// The error wraps [visit.ErrCrossed] if that visit is waited for itself.
func (s *task) Elsewhere(ctx context.Context, from canon.Host, origin canon.Origin, do func(v *visit.Visit)) error {
	e, pair := &s.f.elsewhere, hostPair{from, origin.Host}
	if err := e.begin(pair, time.Now()); err != nil {
		return err
	}
	defer e.end(pair)
	waiting, cancel := context.WithTimeout(ctx, elsewhereWait)
	defer cancel()
	err := s.f.onDemand.visit(ctx, waiting, crawl.VisitRequest{Origin: origin, For: from}, func(v *visit.Visit, _ context.CancelFunc) error {
		do(v)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		e.failed(pair, time.Now())
		return fmt.Errorf("%w (%v)", errInVain, elsewhereWait)
	}
	return err
}

// begin notes that a visit waits, unless that would be in vain.
func (e *elsewhere) begin(p hostPair, now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Before(e.inVain[p]) {
		return errInVain
	}
	for at, more := p.to, true; more; at, more = e.next(at) {
		if at == p.from {
			return visit.ErrCrossed
		}
	}
	if e.waits == nil {
		e.waits = map[canon.Host]canon.Host{}
	}
	e.waits[p.from] = p.to
	return nil
}

// next returns the host for which the visit to a host waits.
func (e *elsewhere) next(at canon.Host) (canon.Host, bool) {
	to, ok := e.waits[at]
	return to, ok
}

func (e *elsewhere) end(p hostPair) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waits, p.from)
}

// failed notes that a visit waited in vain.
func (e *elsewhere) failed(p hostPair, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at, until := range e.inVain {
		if len(e.inVain) < mostInVain && now.Before(until) {
			continue
		}
		delete(e.inVain, at) // it is over, or one of too many
	}
	if e.inVain == nil {
		e.inVain = map[hostPair]time.Time{}
	}
	e.inVain[p] = now.Add(elsewhereAgain)
}
