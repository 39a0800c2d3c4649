package polite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// An auxiliary request may be caused by another party than the one that receives it: the robots.txt
// of a.example redirects to b.example, or names it as its main host. That costs a.example nothing.
// Such requests are counted here, whatever their kind, for each two parties, and wait when there
// are too many. They are counted when they are granted, however they came to their host. Requests
// within one party are its own affair.
//
// The shard of the receiving host counts, so a party that has names in several shards may receive
// as many in each.

// The allowances of requests that other parties cause.
var (
	// CausedOutside is for requests that one party causes and one receives, if they are not in the
	// scope of the crawl, and CausedInside if they are: that host is crawled anyway, and it may
	// have the many sitemaps of a portal.
	CausedOutside = fair.Allowance{Burst: 32, Every: 2 * time.Minute}
	CausedInside  = fair.Allowance{Burst: 128, Every: time.Minute}
	// CausedByAll is for requests outside of the scope that one party receives from all others. One
	// of them causes a twentieth of it at most, after its burst.
	CausedByAll = fair.Allowance{Burst: 256, Every: 6 * time.Second}
)

const (
	// CausedPatience is how long a request may have to wait because of the allowance of the two
	// parties. Others are answered at once with a reason, and then tried again as after a failure.
	CausedPatience = 15 * time.Minute
	// MostCaused is how many allowances in use a shard remembers. Beyond it, it forgets those that
	// are nearly whole again.
	MostCaused = 8192
)

// Caused are the requests of one shard that other parties caused.
type Caused struct {
	features *hosts.Features
	ledger   *hosts.Ledger

	// When each allowance is whole again: see causedKey.
	full  map[string]time.Time
	swept time.Time

	known map[canon.Host]fair.Party // of hosts that were asked for lately: a cache
}

func newCaused(features *hosts.Features, ledger *hosts.Ledger) *Caused {
	return &Caused{features: features, ledger: ledger, full: map[string]time.Time{}, known: map[canon.Host]fair.Party{}}
}

// party is that of a host. All requests that wait at a host are looked at whenever it is scheduled.
func (c *Caused) party(h canon.Host) fair.Party {
	p, ok := c.known[h]
	if !ok {
		if len(c.known) >= MostCaused {
			clear(c.known)
		}
		p = fair.DomainOf(h)
		c.known[canon.Host(strings.Clone(string(h)))] = p
	}
	return p
}

// causedKey is the key of an allowance in memory and in the file. by is nobody for all parties
// together.
func causedKey(at, by fair.Party) string { return at.String() + "\x00" + by.String() }

// causedRecord is an allowance in the file.
type causedRecord struct {
	Full time.Time `json:"full"`
}

// Times shows the times of the record to see.
func (r *causedRecord) Times(see times.See) { see(&r.Full, times.Waits) }

// parties returns who receives a request and who causes it. ok is false if that is the same one, or
// if no request is sent.
func (c *Caused) parties(h *hosts.Host, e *crawl.AuxRequest) (at, by fair.Party, ok bool) {
	if e.Origin.Host == h.Name || e.Kind == crawl.AuxTwin {
		return at, by, false
	}
	at, by = c.party(h.Name), c.party(e.Origin.Host)
	return at, by, at != by && !by.IsZero()
}

// allowance is that of the two parties for a request, and inside reports that it is in scope.
func (c *Caused) allowance(e *crawl.AuxRequest) (a fair.Allowance, inside bool) {
	if c.ledger.Judge.Scope.Decide(e.URL).In {
		return CausedInside, true
	}
	return CausedOutside, false
}

// From is the earliest time at which a request may be sent to h, as far as the party is concerned
// that causes it; the zero time: it need not wait. used is the later, the more this party has
// caused there lately.
func (c *Caused) From(h *hosts.Host, e *crawl.AuxRequest) (from, used time.Time) {
	at, by, ok := c.parties(h, e)
	if !ok {
		return from, used
	}
	a, inside := c.allowance(e)
	used = c.full[causedKey(at, by)]
	from = a.From(used)
	if !inside {
		if all := CausedByAll.From(c.full[causedKey(at, fair.Party{})]); all.After(from) {
			from = all
		}
	}
	return from, used
}

// Use counts a request that is granted.
func (c *Caused) Use(h *hosts.Host, e *crawl.AuxRequest, now time.Time) error {
	at, by, ok := c.parties(h, e)
	if !ok {
		return nil
	}
	a, inside := c.allowance(e)
	err := c.use(causedKey(at, by), a, now)
	if err == nil && !inside {
		err = c.use(causedKey(at, fair.Party{}), CausedByAll, now)
	}
	return err
}

func (c *Caused) use(key string, a fair.Allowance, now time.Time) error {
	if len(c.full) >= MostCaused {
		if err := c.forget(now); err != nil {
			return err
		}
	}
	r := causedRecord{a.Use(c.full[key], now)}
	c.full[key] = r.Full
	v, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	return c.ledger.Put(store.BucketCaused, []byte(key), v)
}

// forget removes allowances that are whole again. If there are still too many, it also removes an
// eighth of them: those that are whole again first.
func (c *Caused) forget(now time.Time) error {
	keys := slices.Collect(maps.Keys(c.full))
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(c.full[a].Compare(c.full[b]), cmp.Compare(a, b)) })
	most := 0
	if len(keys) >= MostCaused {
		most = len(keys) / 8
	}
	for i, key := range keys {
		if i >= most && c.full[key].After(now) {
			break
		}
		delete(c.full, key)
		if err := c.ledger.Drop(store.BucketCaused, []byte(key)); err != nil {
			return err
		}
	}
	return nil
}

// Refuse answers a new request for h with a reason if its party has caused too many there: it would
// wait too long, or too many wait there.
func (c *Caused) Refuse(h *hosts.Host, e *crawl.AuxRequest, now time.Time) (refused bool, err error) {
	at, by, ok := c.parties(h, e)
	if !ok {
		return false, nil
	}
	if len(h.Aux) >= hosts.MaxAux {
		return true, c.features.Reply(e, Refusal(e, "too many auxiliary requests for "+string(h.Name), CausedPatience))
	}
	a, _ := c.allowance(e)
	from := now.Add(-time.Duration(a.Burst-1) * a.Every)
	if t := a.From(c.full[causedKey(at, by)]); t.After(from) {
		from = t
	}
	wait := from.Add(time.Duration(c.waiting(h)[by]) * a.Every).Sub(now)
	if wait <= CausedPatience {
		return false, nil
	}
	why := fmt.Sprintf("too many requests to %s because of %s: %d at once, and one more each %v", at, by, a.Burst, a.Every)
	return true, c.features.Reply(e, Refusal(e, why, wait))
}

// waiting counts the requests that wait at h because of other parties.
func (c *Caused) waiting(h *hosts.Host) map[fair.Party]int {
	n := map[fair.Party]int{}
	for i := range h.Aux {
		if _, by, ok := c.parties(h, &h.Aux[i]); ok {
			n[by]++
		}
	}
	return n
}

// MakeRoom makes room at h for a new request, if there is none: it refuses the last request of the
// party of which most are waiting, unless the new one is of that party, too.
func (c *Caused) MakeRoom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) error {
	if len(h.Aux) < hosts.MaxAux {
		return nil
	}
	n := c.waiting(h)
	_, mine, _ := c.parties(h, e) // nobody, if it is of h's own party
	most := 0
	for _, k := range n {
		most = max(most, k)
	}
	if most <= n[mine]+1 {
		return nil
	}
	for _, x := range slices.Backward(h.Aux) {
		_, by, ok := c.parties(h, &x)
		if !ok || n[by] < most || x.Kind == crawl.AuxDispatch { // a robot may be on its way
			continue
		}
		why := fmt.Sprintf("too many auxiliary requests for %s, most of them because of %s", h.Name, by)
		if err := c.features.Reply(&x, Refusal(&x, why, CausedPatience)); err != nil {
			return err
		}
		return c.features.DropAux(h, x, now)
	}
	return nil
}

// Refusal is the answer to a request that is not sent: why, for people, and after how long it may
// be tried again.
func Refusal(e *crawl.AuxRequest, why string, wait time.Duration) (a crawl.Answer) {
	switch e.Kind {
	case crawl.AuxRobots:
		// There may be rules
		a.Robots = crawl.Robots{Origin: e.Origin, State: crawl.RobotsUnreachable, Reason: why, RetryAfter: wait}
	case crawl.AuxData, crawl.AuxNested:
		a.Probe = crawl.Probe{Origin: e.Origin, State: crawl.ProbeFailed, Reason: why, Redirects: e.Hop, Fresh: wait}
	case crawl.AuxClaim, crawl.AuxTwin:
		a.Claim.Reason = why
	case crawl.AuxSample, crawl.AuxVerify:
		a.Sample.Reason = why
	case crawl.AuxSitemap:
		a.Sitemap = crawl.Sitemap{Reason: why, Again: true}
	case crawl.AuxRUP, crawl.AuxWebSub:
		a.RUP = crawl.RUP{Reason: why, Retry: true, RetryAfter: wait}
	case crawl.AuxSecurityTxt:
		a.SecurityTxt = &crawl.SecurityTxt{State: crawl.FileUnreadable, Reason: why}
	case crawl.AuxLLMSTxt:
		a.LLMSTxt = &crawl.LLMSTxt{State: crawl.FileUnreadable, Reason: why, Fresh: wait}
	case crawl.AuxIndexNow:
		a.KeyFile = &crawl.KeyFile{Reason: why}
	case crawl.AuxFeed:
		a.Feed = &crawl.Feed{Reason: why, Again: true}
	case crawl.AuxDispatch:
		a.Dispatch = &crawl.Dispatch{State: crawl.DispatchFailed, Reason: why, RetryAfter: wait}
	}
	return a
}

// Feature keeps the allowances in the file, with what was granted. A restart does not renew them.
func (c *Caused) Feature() hosts.Feature {
	return hosts.Feature{Load: c.load, Upkeep: c.upkeep, Times: store.InRecords[causedRecord](store.BucketCaused)}
}

func (c *Caused) load(time.Time) error {
	clear(c.full)
	return c.ledger.Tx.Bucket(store.BucketCaused).ForEach(func(k, v []byte) error {
		var r causedRecord
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("%w: requests caused by others %q: %w", store.ErrRecord, k, err)
		}
		c.full[string(k)] = r.Full
		return nil
	})
}

func (c *Caused) upkeep(now time.Time) error {
	if now.Sub(c.swept) < CausedPatience || len(c.full) == 0 {
		return nil
	}
	c.swept = now
	return c.forget(now)
}
