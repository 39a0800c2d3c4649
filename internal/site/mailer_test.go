package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/rup"
)

// office is a mailer whose relay is a function. The test writes into the log of its root.
type office struct {
	*rootOf
	m     *mailer
	sent  []string // what the relay accepted: time since the start, address, report
	relay func(w *waiting) error
	from  time.Time
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{rootOf: newRoot(t), from: time.Now(), relay: func(*waiting) error { return nil }}
	o.baseline()
	o.m = o.mailer()
	return o
}

func (o *office) mailer() *mailer {
	base, err := parseBase("http://www.example.org")
	o.must(err)
	return &mailer{
		db: o.db, log: slog.New(slog.DiscardHandler), count: func(string) {}, wake: make(chan struct{}, 1), pause: relayPause,
		reports: &reports{db: o.db, names: o.tree().names, base: base, robots: filepath.Join(o.dir, "robots.txt"), most: 100},
		send: func(_ context.Context, w *waiting) error {
			if err := o.relay(w); err != nil {
				return err
			}
			_, report, _ := strings.Cut(string(w.text), "\n")
			report = strings.TrimPrefix(report, "URLBase: http://www.example.org/\n\n")
			o.sent = append(o.sent, strings.TrimSpace(fmt.Sprintf("%v %s %d %s", time.Since(o.from).Round(time.Hour), w.to, w.Sequence, report)))
			return nil
		},
	}
}

func (o *office) register(reg rup.Registration) {
	o.t.Helper()
	store := &registry{db: o.db, changed: func() {}}
	o.must(store.Update(o.t.Context(), func(r rup.Registrations) error { return r.Put(reg) }))
}

func (o *office) registered(email string) (reg rup.Registration, ok bool) {
	o.t.Helper()
	store := &registry{db: o.db, changed: func() {}}
	o.must(store.View(o.t.Context(), func(r rup.Registrations) (err error) {
		reg, ok, err = r.Get(email)
		return err
	}))
	return reg, ok
}

// work runs the mailer for some time.
func (o *office) work(d time.Duration) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), d)
	defer cancel()
	o.must(o.m.run(ctx))
}

func (o *office) wantSent(want ...string) {
	o.t.Helper()
	if !slices.Equal(o.sent, want) {
		o.t.Errorf("sent:\n%s\nwant:\n%s", strings.Join(o.sent, "\n"), strings.Join(want, "\n"))
	}
	o.sent = nil
}

const day = 24 * time.Hour

var daily = rup.Latency{N: 1, Unit: rup.Day}

// Formats §6.3: the first report comes one interval after registration, and then one per interval,
// even if nothing changed. The numbers increase by one.
func TestReportsEachInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		o.commit(time.Now(), finding{rel: "before.html", file: fileOf("1")})
		o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
		o.register(rup.Registration{ID: "B", Email: "B@x.example", Latency: rup.Latency{N: 2, Unit: rup.Day}, IncludeOnly: []string{"^/docs/"}})
		o.register(rup.Registration{ID: "C", Email: "c@x.example", Latency: daily, Pending: true})
		o.write("robots.txt", "User-agent: *\nDisallow: /private/\n")
		o.work(time.Hour)
		o.commit(time.Now(), finding{rel: "docs/index.html", file: fileOf("1")}, finding{rel: "a,b.html", file: fileOf("1")}, finding{rel: "before.html", file: fileOf("2")},
			finding{rel: "private/x.html", file: fileOf("1")}, finding{rel: "came.html", file: fileOf("1")})
		o.commit(time.Now(), finding{rel: "came.html"})
		o.wantSent()
		o.work(3*day + time.Hour)
		o.wantSent("24h0m0s a@x.example 1 New[2000-01-01]: a%2Cb.html, docs/\nChange[2000-01-01]: before.html", "48h0m0s a@x.example 2", "48h0m0s B@x.example 1 New[2000-01-01]: docs/",
			"72h0m0s a@x.example 3")
		// The process is stopped during some intervals. They share one report, and then there is
		// one per interval again.
		time.Sleep(5 * day)
		o.commit(time.Now(), finding{rel: "docs/index.html"})
		o.m = o.mailer()
		o.work(25 * time.Hour)
		o.wantSent("194h0m0s a@x.example 4 Delete[2000-01-09]: docs/", "194h0m0s B@x.example 2 Delete[2000-01-09]: docs/", "218h0m0s a@x.example 5")
	})
}

// Changes that are too many for one report come in several reports, one after the other.
func TestReportsTooBigForOne(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
	var found []finding
	for i := range 105 {
		found = append(found, finding{rel: fmt.Sprintf("%d.html", i), file: fileOf("1")})
	}
	o.commit(time.Now(), found...)
	o.back(t, "A", day)
	o.must(o.m.assign(t.Context()))
	o.must(o.m.deliver(t.Context()))
	if len(o.sent) != 2 || !strings.Contains(o.sent[0], "a@x.example 1 New") || strings.Count(o.sent[1], ".html") != 5 || !strings.Contains(o.sent[1], "a@x.example 2 New") {
		t.Errorf("%d mails", len(o.sent))
	}
}

// wantProgress checks for which registrations there is progress. The log is kept for these.
func (o *office) wantProgress(want ...string) {
	o.t.Helper()
	var got []string
	o.must(o.db.View(func(tx *bolt.Tx) error {
		return each(tx.Bucket(bucketProgress), func(id []byte, _ progress) error {
			got = append(got, string(id))
			return nil
		})
	}))
	if !slices.Equal(got, want) {
		o.t.Errorf("progress of %q is kept, want %q", got, want)
	}
}

// back sets a robot's last report back, as if time had passed.
func (o *office) back(t *testing.T, id string, d time.Duration) {
	t.Helper()
	o.must(o.db.Update(func(tx *bolt.Tx) error {
		_, p, _, err := registrations{tx}.byID(id)
		p.Last = p.Last.Add(-d)
		return errors.Join(err, registrations{tx}.putProgress(id, p))
	}))
}

// A clock that was ahead and is set back does not stop the reports.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		ahead := time.Now().Add(400 * day)
		o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
		o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily, Pending: true, Asked: ahead})
		o.back(t, "A", -400*day)
		o.must(o.db.Update(func(tx *bolt.Tx) error {
			return post(tx, queuedMail{ID: "A", Sequence: 7, Created: ahead, Next: ahead}, []byte("SequenceNumber: 7\n"))
		}))
		o.work(time.Hour)
		o.wantSent("0s a@x.example 7")
		o.work(day)
		o.wantSent("24h0m0s a@x.example 1")
		o.work(2 * day)
		if _, ok := o.registered("b@x.example"); ok {
			t.Error("who never confirmed is still registered")
		}
	})
}

// A regression: changes that were noticed while the clock was ahead kept their times, and so did
// all later ones. Until that time, strangers received all of them however short the span was,
// and none was ever purged.
func TestClockSetBackInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		now := time.Now()
		o.rootOf.commit(now, finding{rel: "a", file: fileOf("1")})
		o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
		o.rootOf.commit(now.Add(clockSlack), finding{rel: "b", file: fileOf("1")})
		o.rootOf.commit(now.Add(400*day), finding{rel: "c", file: fileOf("1")})
		o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily})
		o.rootOf.commit(now.Add(401*day), finding{rel: "d", file: fileOf("1")}, finding{rel: "e", file: fileOf("1")})
		o.work(day + time.Hour)
		if got := fmt.Sprint(o.lines()); got != "[N a N b N c N d N e]" {
			t.Errorf("the log: %s", got)
		}
		date := now.UTC().Format(time.DateOnly)
		o.wantSent("24h0m0s a@x.example 1 New["+date+"]: b, c, d, e", "24h0m0s b@x.example 1 New["+date+"]: d, e")
		o.rootOf.commit(time.Now(), finding{rel: "f", file: fileOf("1")})
		var recent []string
		o.must(o.m.reports.Changes(t.Context(), time.Now().Add(-time.Hour), func(e rup.Entry) error {
			recent = append(recent, e.URL)
			return nil
		}))
		if want := []string{"http://www.example.org/f"}; !slices.Equal(recent, want) {
			t.Errorf("the changes of the last hour are %q, want %q", recent, want)
		}
	})
}

// A mail that the relay defers is sent later, in order, with increasing pauses. After five days it
// is given up, together with its number.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
		o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily})
		tries := 0
		o.relay = func(w *waiting) error {
			if w.ID != "A" {
				return nil
			}
			tries++
			return errors.New("450 greylisted")
		}
		o.work(day + time.Hour)
		o.wantSent("24h0m0s b@x.example 1")
		if tries < 4 || tries > 7 { // after 1, 3, 7, 15, 31 minutes
			t.Errorf("%d tries within an hour", tries)
		}
		o.work(7 * day)
		if reg, ok := o.registered("a@x.example"); !ok || reg.Sequence != 8 {
			t.Errorf("%v %+v: want it registered, eight reports numbered", ok, reg)
		}
		o.sent = nil
		o.relay = func(*waiting) error { return nil }
		o.work(5 * time.Hour)
		if len(o.sent) < 5 || !strings.Contains(o.sent[0], "a@x.example 3") && !strings.Contains(o.sent[0], "a@x.example 4") {
			t.Errorf("sent %q: want the reports of the last five days", o.sent)
		}
	})
}

// A relay that cannot be reached is not tried again for each mail.
func TestRelayDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		for i := range 50 {
			o.register(rup.Registration{ID: fmt.Sprint(i), Email: fmt.Sprintf("a%d@x.example", i), Latency: daily})
		}
		tries := 0
		o.relay = func(*waiting) error { tries++; return fmt.Errorf("%w: no route", errRelay) }
		o.work(day + time.Hour)
		if tries > 12 {
			t.Errorf("%d tries within an hour", tries)
		}
		o.relay = func(*waiting) error { return nil }
		o.work(time.Hour)
		if len(o.sent) != 50 {
			t.Errorf("%d mails when the relay was there again", len(o.sent))
		}
	})
}

// The registration of an address that permanently refuses five mails in a row ends. An address that
// accepts one in between stays registered.
func TestRefusedAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
		o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily})
		o.relay = func(w *waiting) error {
			if w.ID == "A" || w.Sequence != 3 {
				return errAddress
			}
			return nil
		}
		o.work(4*day + time.Hour)
		if _, ok := o.registered("a@x.example"); !ok {
			t.Error("ended after four")
		}
		o.work(day)
		if _, ok := o.registered("a@x.example"); ok {
			t.Error("still registered after five")
		}
		o.work(day)
		if _, ok := o.registered("b@x.example"); !ok {
			t.Error("b ended though it took one")
		}
		o.wantProgress("B")
	})
}

// Unregistering drops mails that wait already; after a change of address they go to the new one.
func TestUnregisterAndModifyWhileMailsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		defer o.db.Close()
		o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
		o.register(rup.Registration{ID: "B", Email: "b@x.example", Latency: daily})
		o.relay = func(*waiting) error { return fmt.Errorf("%w: down", errRelay) }
		o.work(day + time.Minute)
		store := &registry{db: o.db, changed: func() {}}
		o.must(store.Update(t.Context(), func(r rup.Registrations) error {
			reg, _, err := r.Get("b@x.example")
			if err != nil {
				return err
			}
			if err := errors.Join(r.Delete("a@x.example"), r.Delete("b@x.example")); err != nil {
				return err
			}
			reg.Email = "new@x.example"
			return r.Put(reg)
		}))
		o.wantProgress("B")
		o.relay = func(*waiting) error { return nil }
		o.work(time.Hour)
		o.wantSent("24h0m0s new@x.example 1")
		o.work(day)
		o.wantSent("48h0m0s new@x.example 2")
	})
}

// If robots.txt cannot be read, there is no report, because it could contain private paths. No
// changes are lost.
func TestNoReportWithoutRobots(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.register(rup.Registration{ID: "A", Email: "a@x.example", Latency: daily})
	o.commit(time.Now(), finding{rel: "private/x.html", file: fileOf("1")}, finding{rel: "x.html", file: fileOf("1")})
	o.must(os.Mkdir(o.path("robots.txt"), 0o755))
	o.back(t, "A", day)
	if err := o.m.assign(t.Context()); err == nil {
		t.Error("no error")
	}
	o.must(o.m.deliver(t.Context()))
	o.wantSent()
	o.must(os.Remove(o.path("robots.txt")))
	o.write("robots.txt", "User-agent: *\nDisallow: /private\n")
	o.must(o.m.assign(t.Context()))
	o.must(o.m.deliver(t.Context()))
	if len(o.sent) != 1 || !strings.HasSuffix(o.sent[0], ": x.html") {
		t.Errorf("sent %q", o.sent)
	}
}

// If the process ends at any commit, every report is still sent, perhaps twice but then with the
// same number and text. No number is missing.
func TestMailerCrashAtEveryCommit(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, id := range []string{"A", "B"} {
		o.register(rup.Registration{ID: id, Email: strings.ToLower(id) + "@x.example", Latency: daily})
	}
	o.commit(time.Now(), finding{rel: "x.html", file: fileOf("1")})
	o.back(t, "A", day)
	o.back(t, "B", day)
	var copies []string
	taken := map[string][]string{} // by copy of the file, what the relay had accepted then
	snapshot := func() {
		name := filepath.Join(t.TempDir(), "copy.db")
		out, err := os.Create(name)
		o.must(err)
		defer out.Close()
		o.must(o.db.View(func(tx *bolt.Tx) error { _, err := tx.WriteTo(out); return err }))
		copies = append(copies, name)
		taken[name] = slices.Clone(o.sent)
	}
	snapshot()
	for _, id := range []string{"A", "B"} {
		_, err := o.m.assignOne(id)
		o.must(err)
		snapshot()
	}
	send := o.m.send
	o.m.send = func(ctx context.Context, w *waiting) error {
		err := send(ctx, w)
		snapshot() // the relay has accepted it, and this is not stored yet
		return err
	}
	o.m.count = func(string) { snapshot() }
	o.must(o.m.deliver(t.Context()))
	if len(copies) != 7 {
		t.Fatalf("%d copies", len(copies))
	}
	for i, name := range copies {
		again := &office{rootOf: &rootOf{t: t, dir: o.dir, file: name}, from: o.from, sent: taken[name], relay: func(*waiting) error { return nil }}
		again.open()
		again.m = again.mailer()
		again.must(errors.Join(again.m.assign(t.Context()), again.m.deliver(t.Context())))
		got := map[string]int{}
		for _, s := range again.sent {
			_, s, _ = strings.Cut(s, " ")
			got[s]++
		}
		for _, who := range []string{"a@x.example", "b@x.example"} {
			want := fmt.Sprintf("%s 1 New[%s]: x.html", who, time.Now().UTC().Format(time.DateOnly))
			if got[want] < 1 || got[want] > 2 {
				t.Errorf("after %d: %d times %q; sent: %q", i, got[want], want, again.sent)
			}
		}
		if len(got) != 2 {
			t.Errorf("after %d: %q", i, again.sent)
		}
		again.db.Close()
	}
}
