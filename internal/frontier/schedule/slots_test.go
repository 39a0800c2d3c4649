package schedule

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/pkg/canon"
)

// manyHosts makes hosts of a domain known.
func (o *open) manyHosts(domain string, n int) {
	o.t.Helper()
	for i := range n {
		o.Link(1, fmt.Sprintf("http://h%d.%s/", i, domain))
	}
}

// Slots are not kept for others if there are none.
func TestACrawlOfOneDomainHasAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots = 256
		o := opened(t, shardtest.Spec())
		o.manyHosts("one.example", 400)
		if vs := o.grant(slots); len(vs) != slots {
			t.Errorf("%d of %d slots for the only domain", len(vs), slots)
		}
		o = opened(t, shardtest.Spec())
		o.manyHosts("one.example", 400)
		o.manyHosts("two.example", 400)
		vs := o.grant(slots)
		time.Sleep(2 * PassedOverAgain)
		if vs = append(vs, o.grant(slots-len(vs))...); len(vs) != slots {
			t.Errorf("%d of %d slots for the only two domains", len(vs), slots)
		}
		// For a few hosts of others only as many slots are kept.
		o = opened(t, shardtest.Spec())
		for i := range 5 {
			name := canon.Host(fmt.Sprintf("www.other%d.example", i))
			o.Link(1, "http://"+string(name)+"/")
			h, _ := o.Host(name)
			h.DelayUntil(time.Now().Add(20*time.Second), "")
			o.visits.Reschedule(h, time.Now())
		}
		o.manyHosts("one.example", 300)
		if vs := o.grant(slots); len(vs) != slots-5 {
			t.Errorf("%d of %d slots with five others due soon", len(vs), slots)
		}
	})
}
