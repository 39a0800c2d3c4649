package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// forwarding is a crawl of several shards whose messages a test delivers by hand.
type forwarding struct {
	t      *testing.T
	shards []*bench
}

func newForwarding(t *testing.T, shards int) *forwarding {
	f := &forwarding{t: t}
	spec := testSpec()
	spec.Shards = shards
	for id := range shards {
		b := &bench{t: t, dir: t.TempDir(), id: id, spec: spec}
		b.open()
		b.start = store.StartDelay
		t.Cleanup(func() { b.crash() })
		f.shards = append(f.shards, b)
	}
	return f
}

// host returns the i-th host of a shard.
func (f *forwarding) host(shard, i int) string {
	for n := 0; ; n++ {
		if h := fmt.Sprintf("h%d.example", n); crawl.ShardOf(canon.Host(h), len(f.shards)) == shard {
			if i--; i < 0 {
				return h
			}
		}
	}
}

// reported returns an event in which a visit to a page reports links to any shard.
func (f *forwarding) reported(on string, depth int, to ...string) crawl.Event {
	ev := crawl.Event{Visit: crawl.VisitID{Epoch: 1, N: 1}, Forward: true}
	for _, raw := range to {
		ev.Links = append(ev.Links, crawl.Links{FoundOn: mustParse(f.t, on), Depth: depth, URLs: []canon.URL{mustParse(f.t, raw)}})
	}
	return ev
}

// pending returns the messages of a shard that may be sent.
func (f *forwarding) pending(shard int) (messages [][]canon.URL) {
	f.t.Helper()
	b := f.shards[shard]
	for _, m := range b.s.Ledger.CommittedOutbox() {
		ev, err := crawl.DecodeEvent(b.outgoing(m))
		if err != nil || ev.Forward || m.Shard == shard {
			f.t.Fatalf("message for shard %d, to be forwarded again: %v, %v", m.Shard, ev.Forward, err)
		}
		var urls []canon.URL
		for _, l := range ev.Links {
			urls = append(urls, l.URLs...)
		}
		messages = append(messages, urls)
	}
	return messages
}

// send sends what a shard may send; each message so many times.
func (f *forwarding) send(shard, times int) {
	b := f.shards[shard]
	for _, m := range b.s.Ledger.CommittedOutbox() {
		for range times {
			f.shards[m.Shard].eventData(b.outgoing(m))
		}
		b.s.Ledger.MarkSent(m.N)
	}
}

// Links to other shards that come with an outcome are added to the outbox in the transaction that
// applies it: they are not sent before that is committed, not lost by a crash before or after,
// accepted once however often they are sent, and sent as one message for many pages.
func TestLinksAreForwarded(t *testing.T) {
	f := newForwarding(t, 2)
	a, b := f.shards[0], f.shards[1]
	here, there := "http://"+f.host(0, 0), "http://"+f.host(1, 0)
	a.event(f.reported(here+"/1", 1, here+"/2", there+"/x", there+"/y"))
	a.event(f.reported(here+"/2", 1, there+"/z"))
	check := func(when string, known int64, outbox int, messages ...int) {
		t.Helper()
		st := a.status()
		if st.Discovered != known || (st.Shards[0].Outbox > 0) != (outbox > 0) {
			t.Errorf("%s: %d known, %d in the outbox; want %d, %d", when, st.Discovered, st.Shards[0].Outbox, known, outbox)
		}
		var got []int
		for _, m := range f.pending(0) {
			got = append(got, len(m))
		}
		if !slices.Equal(got, messages) {
			t.Errorf("%s: messages of %v links may be sent, want %v", when, got, messages)
		}
	}
	check("applied", 1, 1)
	a.crash()
	a.open()
	check("killed before the commit, and the log read again", 1, 1)
	a.commit()
	check("committed", 1, 1, 3)
	a.crash()
	a.open()
	check("killed after the commit", 1, 1, 3)
	f.send(0, 2)
	if st := b.status(); st.Discovered != 3 || st.Queued != 3 {
		t.Errorf("sent twice: %+v, want three URLs", st)
	}
	check("sent", 1, 0)
	a.crash()
	a.open()
	check("killed before that was noted", 1, 1, 3)
	f.send(0, 1)
	a.commit()
	a.crash()
	a.open()
	check("killed after", 1, 0)
	if st := b.status(); st.Discovered != 3 {
		t.Errorf("sent once more: %+v", st)
	}
}

// A link that was forwarded is not forwarded again, unless it is found nearer to a seed, or after a
// while: the receiver may have left it out. Redirects are always forwarded.
func TestRepeatsAreNotForwarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForwarding(t, 2)
		a := f.shards[0]
		here, there := "http://"+f.host(0, 0), "http://"+f.host(1, 0)
		count := func(what string, want int, evs ...crawl.Event) {
			t.Helper()
			for _, ev := range evs {
				a.event(ev)
			}
			a.commit()
			n := 0
			for _, m := range f.pending(0) {
				n += len(m)
			}
			if n != want {
				t.Errorf("%s: %d links forwarded, want %d", what, n, want)
			}
			f.send(0, 1)
			a.commit()
		}
		time.Sleep(time.Minute)
		count("a link on two pages", 1, f.reported(here+"/1", 3, there+"/x"), f.reported(here+"/2", 3, there+"/x"))
		count("again", 0, f.reported(here+"/1", 4, there+"/x"))
		count("nearer", 1, f.reported(here+"/1", 2, there+"/x"))
		redirect := f.reported(here+"/r", 9, there+"/x")
		redirect.Links[0].Redirects = 1
		count("redirects", 2, redirect, redirect)
		time.Sleep(11 * time.Minute)
		count("after a while", 1, f.reported(here+"/1", 4, there+"/x"))
		count("not for ever", 0, f.reported(here+"/1", 4, there+"/x"))
		a.crash()
		a.open()
		count("by a new owner", 1, f.reported(here+"/1", 4, there+"/x"))
	})
}

// One message has links to different shards in any order, with the data of each; a message that
// does not declare that is not trusted.
func TestLinksOfShardsInOneGroup(t *testing.T) {
	f := newForwarding(t, 3)
	l := crawl.Links{FoundOn: "http://s.example/map.xml", Depth: 1, Source: crawl.SourceSitemap}
	for i := range 30 {
		l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://%s/%d", f.host(i*i%3, i%4), i)))
		l.Mods = append(l.Mods, int64(1000+i))
	}
	f.shards[0].event(crawl.Event{Links: []crawl.Links{l}, Forward: true})
	f.shards[0].commit()
	found := map[canon.URL]int64{}
	for _, m := range f.shards[0].s.Ledger.CommittedOutbox() {
		ev, err := crawl.DecodeEvent(f.shards[0].outgoing(m))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range ev.Links {
			for i, u := range l.URLs {
				if crawl.ShardOf(u.Host(), 3) != m.Shard {
					t.Errorf("%s is sent to shard %d", u, m.Shard)
				}
				found[u] = l.Mods[i]
			}
		}
	}
	for i, u := range l.URLs {
		if want := crawl.ShardOf(u.Host(), 3) != 0; want != (found[u] != 0) || want && found[u] != l.Mods[i] {
			t.Errorf("%s: forwarded with %d, want %v with %d", u, found[u], want, l.Mods[i])
		}
	}
	own := f.shards[0].status().Discovered
	f.send(0, 1)
	if sum := own + f.shards[1].status().Discovered + f.shards[2].status().Discovered; sum != 30 {
		t.Errorf("%d URLs are known, of 30", sum)
	}
	f.shards[0].event(crawl.Event{Links: []crawl.Links{{URLs: []canon.URL{canon.URL("http://" + f.host(1, 9) + "/")}}}})
	f.shards[0].commit()
	if n := f.shards[0].status().Shards[0].Outbox; n != 0 {
		t.Errorf("a link of another shard in an event that does not say so was forwarded: %d messages", n)
	}
}

// However many links are found between two commits, a message stays within its limit, and no link
// is lost.
func TestForwardedMessagesAreBounded(t *testing.T) {
	f := newForwarding(t, 2)
	a := f.shards[0]
	here, there := "http://"+f.host(0, 0), "http://"+f.host(1, 0)
	n := 0
	for range 20 { // pages
		l := crawl.Links{FoundOn: canon.URL(here + "/"), Depth: 1}
		for size := 0; size < crawl.MaxEventBytes/5; n++ {
			u := canon.URL(fmt.Sprintf("%s/%d/%0900d", there, n, n))
			l.URLs, size = append(l.URLs, u), size+len(u)
		}
		a.event(crawl.Event{Links: []crawl.Links{l}, Forward: true})
	}
	a.commit()
	got := 0
	messages := a.s.Ledger.CommittedOutbox()
	for _, m := range messages {
		if m.Size > crawl.MaxEventBytes {
			t.Errorf("a message of %d bytes", m.Size)
		}
	}
	for _, m := range f.pending(0) {
		got += len(m)
	}
	if got != n || len(messages) > 6 {
		t.Errorf("%d links of %d in %d messages", got, n, len(messages))
	}
}

// While other shards accept nothing, nothing more is granted, so that the outbox is bounded; the
// log is still applied, since the other shards may wait for that.
func TestNothingIsGrantedWhileTheOutboxIsFull(t *testing.T) {
	f := newForwarding(t, 2)
	a := f.shards[0]
	here, there := f.host(0, 0), f.host(1, 0)
	a.links(0, "", "http://"+here+"/")
	for i := 0; a.s.Visits.MayGrant(time.Now()); i++ {
		if i > 1000 {
			t.Fatal("a gigabyte is owed")
		}
		l := crawl.Links{FoundOn: canon.URL("http://" + here + "/"), Depth: 1}
		for j := range 1000 {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://%s/%d/%d/%0900d", there, i, j, j)))
		}
		a.event(crawl.Event{Links: []crawl.Links{l}, Forward: true})
		a.commit()
		clear(a.log)
	}
	if v := a.grant(1); len(v) != 0 {
		t.Error("a visit was granted")
	}
	a.links(0, "", "http://"+here+"/2")
	if st := a.status(); st.Discovered != 2 {
		t.Errorf("the log is not applied: %+v", st)
	}
	a.crash()
	a.log = nil
	a.open()
	if a.s.Visits.MayGrant(time.Now()) {
		t.Error("the next owner grants although as much is owed")
	}
	m := a.s.Ledger.CommittedOutbox()[0]
	a.s.Ledger.MarkSent(m.N)
	if !a.s.Visits.MayGrant(time.Now()) {
		t.Error("nothing is granted after the first message was sent")
	}
}

// A shard whose log accepts nothing delays messages to others only for the time of one attempt, and
// messages to it keep their order.
func TestShardsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForwarding(t, 3)
		a := f.shards[0]
		ctx, cancel := context.WithCancel(t.Context())
		open := make(chan struct{})
		var sent [3][]string
		done := make(chan error)
		go func() {
			done <- a.s.Ledger.SendOutbox(ctx, false, func(ctx context.Context, shard int, data []byte) error {
				if shard == 1 {
					select {
					case <-open:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				ev, err := crawl.DecodeEvent(data)
				for _, l := range ev.Links {
					sent[shard] = append(sent[shard], l.URLs[0].PathQuery())
				}
				return err
			})
		}()
		here := "http://" + f.host(0, 0)
		for i := range 5 {
			a.event(f.reported(here+"/", 1, fmt.Sprintf("http://%s/%d", f.host(1, 0), i), fmt.Sprintf("http://%s/%d", f.host(2, 0), i)))
			a.commit()
			synctest.Wait()
		}
		want := []string{"/0", "/1", "/2", "/3", "/4"}
		if len(sent[1]) != 0 || !slices.Equal(sent[2], want) {
			t.Errorf("while the log of shard 1 is full: %v", sent)
		}
		close(open)
		synctest.Wait()
		if !slices.Equal(sent[1], want) || a.s.Ledger.Pending() != 0 {
			t.Errorf("after that: %v, %d pending", sent, a.s.Ledger.Pending())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A stopped crawl with messages in its outbox is not done: they are sent when it continues.
func TestACrawlWithAnOutboxIsNotDone(t *testing.T) {
	f := newForwarding(t, 2)
	a := f.shards[0]
	spec, err := json.Marshal(a.spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(SpecFile(a.dir), spec, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stopped", "done"} {
		if want == "stopped" {
			a.event(f.reported("http://"+f.host(0, 0)+"/", 1, "http://"+f.host(1, 0)+"/"))
		} else {
			f.send(0, 1)
		}
		a.commit()
		if err := a.s.close(true); err != nil {
			t.Fatal(err)
		}
		r, err := OpenDir(a.dir)
		if err != nil {
			t.Fatal(err)
		}
		st := []crawl.Status{r.shards[0].Account.Status(time.Now())}
		r.rest(st)
		if st[0].State != want {
			t.Errorf("a stopped crawl is %s, want %s", st[0].State, want)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		a.s = nil
		a.open()
	}
}

// A message that cannot be sent, except because of a stop, ends the sender.
func TestSendingFails(t *testing.T) {
	f := newForwarding(t, 2)
	a := f.shards[0]
	a.event(f.reported("http://"+f.host(0, 0)+"/", 1, "http://"+f.host(1, 0)+"/"))
	a.commit()
	broken := errors.New("no such stream")
	if err := a.s.Ledger.SendOutbox(t.Context(), false, func(context.Context, int, []byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if a.s.Ledger.Pending() != 1 {
		t.Error("the message is not owed any more")
	}
}

// The limit for new names counts per visit, also if links of several visits come in one message.
func TestNewNamesOfForwardedVisits(t *testing.T) {
	b := newBench(t, testSpec())
	var ev crawl.Event
	n := 0
	for visit := range 3 {
		for page := range 4 {
			l := crawl.Links{FoundOn: canon.URL(fmt.Sprintf("http://on%d.example/%d", visit, page)), Depth: 1}
			for range 150 {
				l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://n%d.many.example/", n)))
				n++
			}
			ev.Links = append(ev.Links, l)
		}
	}
	b.event(ev)
	d := b.s.Ledger.Domains.Loaded["many.example"]
	if d == nil {
		d = b.s.Ledger.Domains.Loaded["example"]
	}
	if want := int64(min(3*hosts.NewHostsEvent, crawl.DefaultMaxHosts)); d == nil || d.Hosts != want {
		t.Errorf("%+v, want %d names taken in", d, want)
	}
}

// Shards that are killed at any moment, before and after commits and between sending and recording
// that, finally know all links that were reported to any of them, and nothing else.
func TestForwardingSurvivesKills(t *testing.T) {
	runs := 6
	if testing.Short() {
		runs = 3
	}
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 15))
		f := newForwarding(t, 3)
		all := map[canon.URL]bool{}
		kill := func(b *bench) {
			if r.IntN(6) == 0 {
				b.crash()
				b.open()
			}
		}
		sendSome := func(b *bench) {
			if r.IntN(3) == 0 {
				b.commit()
			}
			for _, m := range b.s.Ledger.CommittedOutbox() {
				if r.IntN(4) == 0 {
					return
				}
				f.shards[m.Shard].eventData(b.outgoing(m))
				kill(f.shards[m.Shard])
				if r.IntN(6) == 0 {
					b.crash()
					b.open()
					return
				}
				b.s.Ledger.MarkSent(m.N)
			}
		}
		for range 60 {
			b := f.shards[r.IntN(3)]
			var to []string
			for range r.IntN(6) {
				u := fmt.Sprintf("http://%s/%d", f.host(r.IntN(3), r.IntN(3)), r.IntN(40))
				to, all[canon.URL(u)] = append(to, u), true
			}
			b.event(f.reported("http://"+f.host(b.id, 0)+"/", r.IntN(3)+1, to...))
			kill(b)
			sendSome(b)
			kill(b)
		}
		for range 3 {
			for _, b := range f.shards {
				b.commit()
				f.send(b.id, 1)
			}
		}
		var known int64
		for _, b := range f.shards {
			known += b.status().Discovered
		}
		if known != int64(len(all)) {
			t.Fatalf("seed %d: %d URLs are known, %d were reported", seed, known, len(all))
		}
		for u := range all {
			b := f.shards[crawl.ShardOf(u.Host(), 3)]
			h, err := b.s.Ledger.HostNamed(u.Host())
			if err != nil || h == nil {
				t.Fatal(h, err)
			}
			if _, v := b.s.URLs.Lookup(h, u); v == nil {
				t.Fatalf("seed %d: %s was lost", seed, u)
			}
		}
		for _, b := range f.shards {
			b.crash()
		}
	}
}
