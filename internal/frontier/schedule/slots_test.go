package schedule

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// manyHosts makes hosts of a domain known.
func (o *open) manyHosts(domain string, n int) {
	o.t.Helper()
	for i := range n {
		o.Link(1, fmt.Sprintf("http://h%d.%s/", i, domain))
	}
}

// all grants visits as long as a fetcher with so many slots gets some, and returns how many visits
// there are to each domain.
func (o *open) all(slots int) (byDomain map[string]int, total int) {
	o.t.Helper()
	byDomain = map[string]int{}
	for range 10 {
		for _, v := range o.grant(slots - total) {
			byDomain[v.Host.Registered()]++
			total++
		}
		time.Sleep(slotsAlone / 5)
		o.visits.Renew(slices.Collect(maps.Keys(o.visits.Outstanding)), time.Now())
	}
	return byDomain, total
}

// Slots are not kept for others if there are none. Parties that have more than a share leave a
// share to one that has less, and is due in less than a minute.
func TestACrawlOfOneDomainHasAllSlots(t *testing.T) {
	const slots = 256
	for _, c := range []struct {
		domains, hosts, others int
		want                   int
	}{
		{1, 400, 0, slots},
		{2, 400, 0, slots},
		{3, 20, 0, 60},
		{1, 400, 5, slots - slots/SlotsShare},
		{2, 400, 5, slots - slots/SlotsShare},
		{1, slots / SlotsShare, 5, slots / SlotsShare},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := opened(t, shardtest.Spec())
			for i := range c.others {
				name := canon.Host(fmt.Sprintf("www.other%d.example", i))
				o.Link(1, "http://"+string(name)+"/")
				h, _ := o.Host(name)
				h.DelayUntil(time.Now().Add(40*time.Second), "")
				o.visits.Reschedule(h, time.Now())
			}
			for i := range c.domains {
				o.manyHosts(fmt.Sprintf("d%d.example", i), c.hosts)
			}
			if by, n := o.all(slots); n != c.want {
				t.Errorf("%+v: %d of %d slots: %v", c, n, slots, by)
			}
		})
	}
}

// Parties with many hosts have as many slots as each other, and those with few have all they need.
func TestLevel(t *testing.T) {
	for _, c := range []struct {
		capacity int
		need     []int
		want     int
	}{
		{8, []int{8, 8}, 4},
		{8, []int{8, 8, 1}, 3},
		{8, []int{8, 1, 1}, 6},
		{8, []int{2, 2, 2}, 8},
		{8, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 8}, 0},
		{1, []int{1}, 1},
	} {
		need := make([]int, c.capacity+1)
		for _, n := range c.need {
			need[n]++
		}
		if got := level(need); got != c.want {
			t.Errorf("%d slots for parties that need %v: level %d, want %d", c.capacity, c.need, got, c.want)
		}
	}
}

// found applies the outcome of a visit that has ended, to a host at an address.
func (o *open) found(name canon.Host, block string) {
	o.t.Helper()
	h, _ := o.Host(name)
	v := h.Visit
	o.visits.Reported(h, v, &crawl.Outcome{Host: name, Block: block}, time.Now())
	o.visits.EndVisit(v)
}

// Hosts at one address are one party, whatever their domains are. The first visits to hosts whose
// address is unknown are looked at by the fetcher.
func TestSlotsByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots, share = 64, 16
		o := opened(t, shardtest.Spec())
		for i := range 100 {
			o.Link(1, fmt.Sprintf("http://www.d%d.example/", i))
		}
		vs := o.grant(slots)
		if len(vs) != slots {
			t.Fatalf("%d of %d visits to hosts at unknown addresses", len(vs), slots)
		}
		for i, v := range vs {
			if v.NewAddress != (i >= share) {
				t.Errorf("visit %d: NewAddress is %v", i, v.NewAddress)
			}
		}
		// All are at one address. One other host is elsewhere.
		for i := range 100 {
			h, _ := o.Host(canon.Host(fmt.Sprintf("www.d%d.example", i)))
			if v := h.Visit; v != nil {
				o.visits.Reported(h, v, &crawl.Outcome{Partial: true, Block: "192.0.2.1"}, time.Now())
			}
			h.FoundAt(netip.MustParseAddr("192.0.2.1"))
		}
		o.Link(1, "http://www.other.example/")
		other, _ := o.Host("www.other.example")
		other.FoundAt(netip.MustParseAddr("192.0.2.2"))
		other.DelayUntil(time.Now().Add(30*time.Second), "")
		for _, v := range vs[:slots-share] {
			o.found(v.Host, "192.0.2.1")
		}
		time.Sleep(slotsTick)
		if n := len(o.grant(slots - share)); n != slots-2*share {
			t.Errorf("%d more visits to an address that has a share, want %d", n, slots-2*share)
		}
		if o.visits.nWaiting == 0 {
			t.Error("no host waits")
		}
		// Its turn comes when the others' slots are free, or when nobody else needs any.
		time.Sleep(30 * time.Second)
		o.visits.Renew(slices.Collect(maps.Keys(o.visits.Outstanding)), time.Now())
		got := o.grant(share)
		if len(got) != 1 || got[0].Host != "www.other.example" || got[0].NewAddress {
			t.Errorf("%+v, want only the other host", got)
		}
		o.found("www.other.example", "192.0.2.2")
		o.Set("http://www.other.example/", urls.Verdict{Class: crawl.Failed}, nil)
		time.Sleep(slotsAlone + slotsTick)
		o.visits.Renew(slices.Collect(maps.Keys(o.visits.Outstanding)), time.Now())
		o.grant(1)
		time.Sleep(slotsAlone + slotsTick)
		o.visits.Renew(slices.Collect(maps.Keys(o.visits.Outstanding)), time.Now())
		if n := len(o.grant(share)); n == 0 {
			t.Error("an address that is alone does not get all slots")
		}
	})
}

// The address of a domain's last visit counts for its hosts that were never visited.
func TestAddressOfADomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(1, "http://a.d.example/", "http://b.d.example/", "http://a.e.example/")
		o.grant(1)
		o.found("a.d.example", "2001:db8::")
		for name, want := range map[canon.Host]string{"b.d.example": "2001:db8::/64", "a.e.example": "e.example"} {
			h, _ := o.Host(name)
			if got := o.visits.AllSlots.partiesOf(h, time.Now())[1].who.String(); got != want {
				t.Errorf("%s counts as %s, want %s", name, got, want)
			}
		}
		h, _ := o.Host("a.d.example")
		// Older fetchers, and mistakes.
		for _, odd := range []string{"", "no address", "192.0.2.300"} {
			if o.visits.Reported(h, nil, &crawl.Outcome{Block: odd}, time.Now()); h.Block != netip.MustParseAddr("2001:db8::") {
				t.Errorf("%q was taken for an address: %v", odd, h.Block)
			}
		}
	})
}

// Domains whose visits were slow lately share what others do not need, and at least one share.
func TestSlowDomainsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		for i := range 60 {
			o.Link(1, fmt.Sprintf("http://www.slow%d.example/", i))
		}
		for i := range 20 {
			o.Link(1, fmt.Sprintf("http://www.fast%d.example/", i))
		}
		for i := range 60 {
			h, _ := o.Host(canon.Host(fmt.Sprintf("www.slow%d.example", i)))
			o.visits.AllSlots.Cost(h, 29*time.Second, time.Second, time.Now())
		}
		slow := func(vs []crawl.Visit) (n int) {
			for _, v := range vs {
				if strings.Contains(string(v.Host), "slow") {
					n++
				}
			}
			return n
		}
		vs := o.grant(32)
		if n := slow(vs); len(vs) != 32 || n != 32-20 {
			t.Errorf("%d of %d visits are to slow domains, want 12 of 32", n, len(vs))
		}
		for _, c := range []struct {
			took, delays time.Duration
			want         bool
		}{
			{29 * time.Second, 0, true},
			{slowVisit, 0, false},                       // one is not enough
			{20 * time.Second, 10 * time.Second, false}, // ten requests with their delays
			{21 * time.Second, 10 * time.Second, true},
			{time.Minute, 55 * time.Second, false},
		} {
			x, h := NewSlots(), vs[0].Host
			host, _ := o.Host(h)
			x.Cost(host, c.took, c.delays, time.Now())
			if got := x.partiesOf(host, time.Now())[2] == slowOnes; got != c.want {
				t.Errorf("after a visit of %v with delays of %v the domain is slow: %v", c.took, c.delays, got)
			}
			if x.partiesOf(host, time.Now().Add(time.Hour))[2] == slowOnes {
				t.Error("a domain is slow for ever")
			}
		}
	})
}

// Only some hosts of a party wait in memory. Others are postponed, and return one after the other.
func TestManyHostsArePostponed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(1, "http://www.other.example/")
		h, _ := o.Host("www.other.example")
		h.DelayUntil(time.Now().Add(50*time.Second), "")
		o.manyHosts("many.example", 300)
		o.grant(8)
		if n := hosts.MaxResident / 8; o.visits.nWaiting != n {
			t.Errorf("%d hosts wait in memory, want %d", o.visits.nWaiting, n)
		}
		later := map[time.Time]int{}
		for _, h := range o.Ledger.Due {
			if h.Domain.Name == "many.example" {
				later[h.When]++
			}
		}
		if n := 300 - hosts.MaxResident/8 - 6; len(later) != n {
			t.Errorf("%d hosts at %d times are postponed, want %d at different times", len(o.Ledger.Due), len(later), n)
		}
	})
}

// The number of slots is what fetchers say that ask for visits.
func TestOfferedSlots(t *testing.T) {
	x, now := NewSlots(), time.Now()
	x.Offer("a", 64, now)
	x.Offer("b", 32, now)
	x.Offer("old", 0, now)
	if x.offered != 96 {
		t.Errorf("%d slots of 96", x.offered)
	}
	x.Offer("a", 16, now.Add(fetcherGone+time.Second))
	if x.offered != 16 {
		t.Errorf("%d slots; the fetcher that is gone had 32, and there are 16", x.offered)
	}
	for i := range maxFetchers + 5 {
		x.Offer(fmt.Sprint(i), 1, now.Add(fetcherGone+time.Second))
	}
	if len(x.fetchers) != maxFetchers {
		t.Errorf("%d fetchers are remembered, the limit is %d", len(x.fetchers), maxFetchers)
	}
}
