package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
)

// manyHosts makes hosts of a domain known.
func (b *bench) manyHosts(domain string, n int) {
	b.t.Helper()
	var urls []string
	for i := range n {
		if urls = append(urls, fmt.Sprintf("http://h%d.%s/", i, domain)); len(urls) == hosts.NewHostsPage || i == n-1 {
			b.links(1, "", urls...)
			urls = nil
		}
	}
}

func ofDomain(vs []crawl.Visit, domain string) (n int) {
	for _, v := range vs {
		if strings.HasSuffix(string(v.Host), "."+domain) {
			n++
		}
	}
	return n
}

// A domain with many slow hosts does not get all slots while hosts of other domains are due, and
// gets them while none are.
func TestADomainHasAQuarterOfTheVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots = 256
		b := newBench(t, testSpec("http://www.slow.example/"))
		b.manyHosts("slow.example", 400)
		for i := range 250 {
			b.links(1, "", fmt.Sprintf("http://www.other%d.example/", i))
		}
		first := b.grant(slots)
		if n := ofDomain(first, "slow.example"); len(first) != slots || n > slots/schedule.SlotsShare {
			t.Fatalf("%d visits, %d to slow hosts of one domain, while hosts of others are due", len(first), n)
		}
		// The others answer, again and again; those do not.
		most := 0
		for range 20 {
			var others []crawl.Visit
			for _, v := range first {
				if ofDomain([]crawl.Visit{v}, "slow.example") == 1 {
					others = append(others, v)
					continue
				}
				b.finish(v, crawl.Stored, "")
				b.links(2, "", "http://"+string(v.Host)+fmt.Sprintf("/%d", time.Now().Unix()))
			}
			b.s.Visits.Renew(ids(others), time.Now())
			first = append(others, b.grant(slots-len(others))...)
			most = max(most, ofDomain(first, "slow.example"))
			time.Sleep(2 * time.Second)
		}
		if most > slots/schedule.SlotsShare {
			t.Errorf("slow hosts of one domain have %d of %d hands", most, slots)
		}
	})
}

func ids(vs []crawl.Visit) (list []crawl.VisitID) {
	for _, v := range vs {
		list = append(list, v.ID)
	}
	return list
}
