package hosts

import (
	"fmt"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestDomains counts the names of a domain. The counts are written with a commit, and the domain
// leaves memory when no host there needs it.
func TestDomains(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	for n := range 5 {
		h, err := l.NewHost(canon.Host(fmt.Sprintf("h%d.one.example", n)), n >= 3)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			h.URLQueued(uint8(0), true) // so that it stays in memory
			h.CountURL(crawl.Stored, "", 7)
		}
	}
	d, err := l.DomainOf("h0.one.example")
	if err != nil {
		t.Fatal(err)
	}
	l.LeaveNameOut(d)
	closed, err := l.HostNamed("h4.one.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.OpenHost(closed); err != nil {
		t.Fatal(err)
	}
	want := Domain{Name: "one.example", Hosts: 4, Stored: 7, Closed: 1, LeftOut: 1}
	check := func(when string, d *Domain) {
		t.Helper()
		if d.Name != want.Name && d.Name != "example" || d.Hosts != want.Hosts || d.Stored != want.Stored || d.Closed != want.Closed || d.LeftOut != want.LeftOut {
			t.Errorf("%s: %+v, want %+v", when, d, want)
		}
	}
	check("in memory", d)
	if l.Meta.Closed != 1 || l.Meta.KnownHosts() != 4 {
		t.Errorf("%d hosts are closed, %d known", l.Meta.Closed, l.Meta.KnownHosts())
	}
	commit(t, l)
	l = reopened(t, l)
	if n := len(l.Domains.Loaded); n != 0 {
		t.Errorf("%d domains are in memory at the beginning", n)
	}
	if d, err = l.DomainOf("other.one.example"); err != nil {
		t.Fatal(err)
	}
	check("in the file", d)
	if again, err := l.DomainOf("h0.one.example"); err != nil || again != d {
		t.Errorf("another record of the same domain: %v", err)
	}
	commit(t, l)
	if n := len(l.Domains.Loaded); n != 0 {
		t.Errorf("%d domains stay in memory without a host", n)
	}
}

// TestBringsNames: a page may add so many names of a domain, and so may an event. The next page and
// the next event begin anew.
func TestBringsNames(t *testing.T) {
	t.Parallel()
	var d Domain
	accepted := func(page, event uint64) (n int) {
		for d.BringsNames(page, event) {
			d.BroughtName()
			n++
		}
		return n
	}
	if n := accepted(1, 1); n != NewHostsPage {
		t.Errorf("a page brings %d names", n)
	}
	if n := accepted(2, 1); n != NewHostsPage {
		t.Errorf("the next page brings %d names", n)
	}
	if n := accepted(3, 1); n != NewHostsEvent-2*NewHostsPage {
		t.Errorf("the last page of an event brings %d names", n)
	}
	if n := accepted(4, 2); n != NewHostsPage {
		t.Errorf("a page of the next event brings %d names", n)
	}
}
