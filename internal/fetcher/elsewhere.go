package fetcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
// fetchers, both give up after elsewhereWait and are put back.
//
// A page that waited in vain is put back, and with it the pages of its host, until the next
// attempt. If the frontier says for elsewhereMost that the host must not be visited, the pages are
// rendered without what they need there. As long as no frontier answers, they wait.

const (
	// elsewhereWait is how long a page waits for a visit to another host. A crawl that visits the
	// host as well lets others go in between, after about ten seconds.
	elsewhereWait = time.Minute // or half of it more or less
	// elsewhereAgain is how long a host is not asked for again on behalf of the same host, after
	// that was in vain.
	elsewhereAgain = 30 * time.Second
	// elsewhereMost is how long pages wait for a host that must not be visited.
	elsewhereMost = 10 * time.Minute
	// mostInVain is how many pairs of hosts are remembered for that.
	mostInVain = 4096
)

// elsewhere is which visits wait for one to another host.
type elsewhere struct {
	mu     sync.Mutex // guards the fields below
	waits  map[canon.Host]canon.Host
	inVain map[hostPair]vain
}

type hostPair struct{ from, to canon.Host }

// vain says since when a host was asked for in vain, and until when it is not asked for again.
type vain struct{ since, until time.Time }

// errInVain is why a page does not get what it needs of a host.
var errInVain = fmt.Errorf("its host could not be visited for %v", elsewhereMost)

// Elsewhere calls do with a visit to the host of an origin, on behalf of a visit to the host from.
// With public it reaches public addresses only. If the error is a [visit.Later], the page is
// rendered later.
func (s *task) Elsewhere(ctx context.Context, from canon.Host, origin canon.Origin, public bool, do func(v *visit.Visit)) error {
	e, pair := &s.f.elsewhere, hostPair{from, origin.Host}
	want := wanted{crawl.VisitRequest{Origin: origin, For: from}, public}
	if err := e.begin(pair, time.Now()); err != nil {
		return err
	}
	defer e.end(pair)
	waiting, cancel := context.WithTimeout(ctx, about(elsewhereWait))
	defer cancel()
	err := s.f.onDemand.visit(ctx, waiting, want, func(v *visit.Visit, _ context.CancelFunc) error {
		e.succeeded(pair)
		do(v)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return e.failed(pair, time.Now(), !errors.Is(err, errNoFrontier))
	}
	return err
}

// begin notes that a visit waits, unless that would be in vain.
func (e *elsewhere) begin(p hostPair, now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch v := e.inVain[p]; {
	case !now.Before(v.until):
	case v.until.Sub(v.since) >= elsewhereMost:
		return errInVain
	default:
		return later(p.to, v.until.Sub(now))
	}
	for at, more := p.to, true; more; at, more = e.next(at) {
		if at == p.from {
			return &visit.Later{Why: "two pages need something of each other's hosts", Wait: crossedWait}
		}
	}
	if e.waits == nil {
		e.waits = map[canon.Host]canon.Host{}
	}
	e.waits[p.from] = p.to
	return nil
}

// crossedWait is how long the host of a page is left alone on which another page waits.
const crossedWait = 2 * time.Second

func later(host canon.Host, wait time.Duration) error {
	return &visit.Later{Why: fmt.Sprintf("%s, of which a page needs something, cannot be visited now", host), Wait: wait}
}

// about returns a time that differs from d by a half at most, so that two fetchers whose visits
// wait for each other do not begin again and again at the same time.
func about(d time.Duration) time.Duration { return d/2 + rand.N(d) }

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

func (e *elsewhere) succeeded(p hostPair) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.inVain, p)
}

// failed notes that a visit waited in vain, and returns what that means for its page. answered: a
// frontier has said that the host must not be visited.
func (e *elsewhere) failed(p hostPair, now time.Time, answered bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at, v := range e.inVain {
		if at != p && (len(e.inVain) >= mostInVain || now.Sub(v.until) > elsewhereMost) {
			delete(e.inVain, at) // it is over, or one of too many
		}
	}
	if e.inVain == nil {
		e.inVain = map[hostPair]vain{}
	}
	v := e.inVain[p]
	if v.since.IsZero() || !answered {
		v.since = now.Add(-elsewhereWait)
	}
	if now.Sub(v.since) >= elsewhereMost {
		v.until = now.Add(elsewhereMost)
		e.inVain[p] = v
		return errInVain
	}
	wait := about(elsewhereAgain)
	v.until = now.Add(wait)
	e.inVain[p] = v
	return later(p.to, wait)
}
