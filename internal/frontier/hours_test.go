package frontier

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/hours"
	"github.com/curtsy/curtsy/pkg/canon"
)

// atHours makes the shard use other hours, like SetSpec. own has hours of single hosts.
func (b *bench) atHours(crawlHours string, own map[string]string) {
	b.t.Helper()
	b.spec.Hours = crawlHours
	j, err := judge.New(b.spec)
	if err != nil {
		b.t.Fatal(err)
	}
	if own != nil {
		if j.Hours, err = hours.NewByHost(crawlHours, b.spec.Timezone, func(host string) string { return own[host] }); err != nil {
			b.t.Fatal(err)
		}
	}
	b.s.Ledger.Mu.Lock()
	defer b.s.Ledger.Mu.Unlock()
	_ = b.s.Ledger.Guarded(func() error { b.s.Specs.Change(j); return nil })
}

// sleepUntil sleeps until a time of the day.
func sleepUntil(clock string) {
	at, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err)
	}
	now := time.Now().UTC()
	next := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	time.Sleep(time.Until(next))
}

// Over several days, with crashes in and outside of the hours, no visit is granted outside of them.
// The crawl is not done meanwhile, nobody has to ask before they begin, and status, hosts and
// explain say when they do.
func TestNoVisitOutsideOfTheHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		// 21:00 to 05:00 UTC in winter
		spec.Hours, spec.Timezone, spec.HoldMax = "22:00-06:00", "Europe/Berlin", 11*time.Minute
		spec.Delay = 10 * time.Minute
		b := newBench(t, spec)
		var all []string
		for i := range 200 {
			all = append(all, "http://a.example/"+strings.Repeat("x", i))
		}
		b.links(0, "", all...)
		granted, days := 0, map[int]bool{}
		begin := time.Now()
		for i := 0; time.Since(begin) < 4*24*time.Hour; i++ {
			now := time.Now().UTC()
			open := now.Hour() >= 21 || now.Hour() < 5
			for _, v := range b.grant(4) {
				if !open {
					t.Fatalf("a visit at %v", now)
				}
				granted++
				days[now.Add(-12*time.Hour).YearDay()] = true
				b.finish(v, crawl.Stored, "")
			}
			due := b.s.Visits.NextDue(time.Now())
			if due.IsZero() {
				t.Fatalf("at %v nothing is due any more", now)
			}
			if h := due.UTC().Hour(); !open && (h != 21 || due.UTC().Minute() != 0) {
				t.Fatalf("at %v the next visit is due at %v", now, due)
			}
			if st := b.status(); st.Shards[0].DueSoon == 0 || len(st.Postponed) > 0 || (st.OpensAt == nil) != open {
				t.Fatalf("at %v: %d URLs are due, hosts %v are postponed, the hours begin %v", now, st.Shards[0].DueSoon, st.Postponed, st.OpensAt)
			}
			if i%50 == 49 {
				b.commit()
				b.crash()
				b.open()
			}
			time.Sleep(7 * time.Minute)
		}
		if granted < 100 || len(days) != 5 {
			t.Errorf("%d visits on %d nights", granted, len(days))
		}
		sleepUntil("12:00:00")
		info := b.s.Account.HostInfo(b.s.Ledger.Hosts["a.example"], time.Now())
		if info.State != "waiting" || info.NextDue == nil || info.NextDue.UTC().Hour() != 21 || info.Reason != "requests are sent to it only 22:00-06:00 (Europe/Berlin)" {
			t.Errorf("%+v", info)
		}
		u := mustParse(t, all[len(all)-1])
		if x, err := b.s.Account.Explain(string(u), u, time.Now()); err != nil || x.NextDue == nil || x.NextDue.UTC().Hour() != 21 || !strings.Contains(x.Detail, "22:00-06:00") {
			t.Errorf("%+v, %v", x, err)
		}
		if v, err := b.s.Visits.Download(canon.Origin{Scheme: "http", Host: "a.example", Port: 80}, "", time.Now()); v != nil || err != nil {
			t.Errorf("a download outside of the hours: %v, %v", v, err)
		}
		// Without hours the host is due at once.
		b.atHours("", nil)
		if v := b.grant(1); len(v) != 1 {
			t.Error("no visit after the hours were removed")
		}
		b.verify()
	})
}

// A host may have fewer hours than its crawl. Other hosts go on meanwhile.
func TestHoursOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.HoldMax = time.Second
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/", "http://b.example/", "http://never.example/")
		b.atHours("08:00-20:00", map[string]string{"a.example": "18:00-22:00", "never.example": "21:00-22:00"})
		host := func(n int, want ...canon.Host) {
			t.Helper()
			var got []canon.Host
			for _, v := range b.grant(n) {
				got = append(got, v.Host)
				b.finish(v, crawl.Returned, "")
			}
			if len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
				t.Errorf("at %v: %v, want %v", time.Now().UTC(), got, want)
			}
		}
		sleepUntil("07:59:59")
		host(3)
		sleepUntil("08:00:01")
		host(3, "b.example")
		sleepUntil("17:59:59")
		host(3, "b.example")
		sleepUntil("18:00:01")
		host(3, "a.example", "b.example")
		sleepUntil("20:00:00")
		host(3)
		sleepUntil("21:30:00")
		host(3)
		if st := b.status(); st.Shards[0].DueSoon == 0 || len(st.Postponed) > 0 {
			t.Errorf("%+v", st)
		}
		info := b.s.Account.HostInfo(b.s.Ledger.Hosts["never.example"], time.Now())
		if info.State != "waiting" || !strings.HasPrefix(info.Reason, "its hours never permit requests: 08:00-20:00 and 21:00-22:00") {
			t.Errorf("%+v", info)
		}
		// With other hours it is due at once.
		b.atHours("", map[string]string{"a.example": "08:00-09:00"})
		host(3, "b.example", "never.example")
		b.verify()
	})
}
