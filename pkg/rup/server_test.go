package rup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// changes is an Index.
type changes []Entry

func (c changes) Changes(_ context.Context, since time.Time, yield func(Entry) error) error {
	for _, e := range c {
		if e.Date.Before(since) {
			continue
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// site is a Server for a test's own requests.
type site struct {
	*Server
	t     testing.TB
	store *MemoryStore
	log   bytes.Buffer
}

func newSite(t testing.TB, change func(*ServerOptions)) *site {
	t.Helper()
	s := &site{t: t, store: new(MemoryStore)}
	opt := ServerOptions{
		Info: &Info{
			CGI: "/rup", Latency: []Unit{Day, Week}, Exclude: []string{`\.gif$`, ".*"}, IncludeOnly: []string{"^/docs/", ".*"}, MaxQuerySpan: Span{30, Day},
		},
		Base: "http://www.site.example", Store: s.store, Now: func() time.Time { return day0 },
		Index: changes{
			entry("/docs/a.html", New, day0.Add(-48*hours)), entry("/i.gif", Change, day0.Add(-47*hours)), entry("/secret/x", Change, day0.Add(-3*hours)),
			entry("/old.html", Delete, day0.Add(-2*hours)), entry("/docs/a.html", Change, day0.Add(-hours)),
		},
		Closed: func(pathQuery string) bool { return strings.HasPrefix(pathQuery, "/secret/") },
		// high, except in the tests of these limits
		RegisterPerHour: 1000, IndexPerHour: 1000, PerDomain: 1000, PerMailbox: 1000,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	if change != nil {
		change(&opt)
	}
	server, err := NewServer(opt)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = server
	return s
}

func (s *site) do(r *http.Request) (status int, body string, h http.Header) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if typ := w.Header().Get("Content-Type"); typ != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-store" {
		s.t.Errorf("header %v", w.Header())
	}
	return w.Code, w.Body.String(), w.Header()
}

func post(form string) *http.Request {
	r := httptest.NewRequest("POST", "/rup", strings.NewReader(form))
	r.Header.Set("Content-Type", FormType)
	return r
}

func (s *site) post(form string, wantStatus int) string {
	s.t.Helper()
	status, body, _ := s.do(post(form))
	if status != wantStatus {
		s.t.Fatalf("%s: %d, want %d: %s", form, status, wantStatus, body)
	}
	return body
}

var keyLine = regexp.MustCompile(`(?m)^RegistrationKey: ([A-Za-z0-9_-]+)$`)

// register registers and returns the parameters that prove it.
func (s *site) register(email, more string) string {
	s.t.Helper()
	body := s.post("Action=Register&RobotEmail="+email+more, 200)
	m := keyLine.FindStringSubmatch(body)
	if m == nil || len(m[1])*6 < 128 {
		s.t.Fatalf("no key on a line of its own: %s", body)
	}
	return "&RegistrationKey=" + m[1] + "&RegisteredRobotEmail=" + email
}

func (s *site) stored(email string) (r Registration) {
	s.store.View(s.t.Context(), func(tx Registrations) error {
		r, _, _ = tx.Get(EmailKey(email))
		return nil
	})
	return r
}

func TestRUP_6_2_Register(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cred := s.register("r@bot.example", "")
	r := s.stored("r@bot.example")
	if r.Latency != (Latency{1, Day}) || r.Exclude != nil || r.Sequence != 0 || !r.Registered.Equal(day0) || r.Pending || r.ID == "" {
		t.Errorf("%+v", r)
	}
	key := query(t, cred[1:]).Get("RegistrationKey")
	if len(r.KeyHash) != 32 || strings.Contains(fmt.Sprintf("%+v", r), key) || strings.Contains(s.log.String(), key) {
		t.Error("the key is kept")
	}
	other := s.register("R2@bot.example", "&Latency=2-week&IncludeOnly=%5e/docs/")
	if other == cred {
		t.Error("the same key twice")
	}
	r2 := s.stored("r2@BOT.example")
	if r2.Latency != (Latency{2, Week}) || !slices.Equal(r2.IncludeOnly, []string{"^/docs/"}) || r2.Email != "R2@bot.example" || r2.ID == r.ID {
		t.Errorf("%+v", r2)
	}
	// An address that is already registered gets no key, in any case.
	for _, email := range []string{"r@bot.example", "R@BOT.Example"} {
		if body := s.post("Action=Register&RobotEmail="+email, 400); strings.Contains(body, "RegistrationKey") || !strings.Contains(body, "RobotEmail") {
			t.Error(body)
		}
	}
	if again := s.stored("r@bot.example"); !bytes.Equal(again.KeyHash, r.KeyHash) {
		t.Error("the key was replaced")
	}
	none := newSite(t, func(o *ServerOptions) { o.Info.Latency = nil })
	none.register("r@bot.example", "")
	if r := none.stored("r@bot.example"); r.Latency != (Latency{1, Week}) {
		t.Errorf("no unit offered: %v", r.Latency)
	}
}

// POST and GET are equivalent; the CGI URL may have its own query; other methods are refused.
func TestRUP_6_2_Methods(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if status, body, _ := s.do(httptest.NewRequest("GET", "/rup?site=7&Action=Register&RobotEmail=r@bot.example", nil)); status != 200 || !keyLine.MatchString(body) {
		t.Errorf("GET: %d %s", status, body)
	}
	own := post("Action=Register&RobotEmail=s@bot.example")
	own.URL.RawQuery = "site=7"
	own.Header.Set("Content-Type", FormType+"; charset=UTF-8")
	if status, body, _ := s.do(own); status != 200 {
		t.Errorf("POST with a query: %d %s", status, body)
	}
	both := post("Action=Register&RobotEmail=t@bot.example")
	both.URL.RawQuery = "action=Unregister"
	if status, body, _ := s.do(both); status != 400 || !strings.Contains(body, "Action") {
		t.Errorf("a parameter in query and body: %d %s", status, body)
	}
	for _, method := range []string{"HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "post"} {
		status, _, h := s.do(httptest.NewRequest(method, "/rup?Action=GetIndex&Span=1-day", nil))
		if status != 405 || h.Get("Allow") != "GET, POST" {
			t.Errorf("%s: %d, %v", method, status, h)
		}
	}
	for _, typ := range []string{"", "text/plain", "multipart/form-data; boundary=x", "application/json"} {
		r := post("Action=GetIndex&Span=1-day")
		r.Header.Set("Content-Type", typ)
		if status, body, _ := s.do(r); status != 400 {
			t.Errorf("%q: %d %s", typ, status, body)
		}
	}
	for _, form := range []string{"Action=GetIndex&Span=%zz", "Action=GetIndex;Span=1-day"} {
		if body := s.post(form, 400); strings.Contains(body, "zz") {
			t.Error(body)
		}
		if status, body, _ := s.do(httptest.NewRequest("GET", "/rup?"+strings.ReplaceAll(form, "%zz", "%25%zz"), nil)); status != 400 {
			t.Errorf("%d %s", status, body)
		}
	}
}

func TestRUP_6_2_ServerLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	const form = "Action=GetIndex&Span=1-day&pad="
	s.post(form+strings.Repeat("x", maxForm-len(form)), 200)
	s.post(form+strings.Repeat("x", maxForm-len(form)+1), 400)
	get := func(n int) int {
		status, _, _ := s.do(httptest.NewRequest("GET", "/rup?"+form+strings.Repeat("x", n-len(form)), nil))
		return status
	}
	if a, b := get(maxForm), get(maxForm+1); a != 200 || b != 400 {
		t.Errorf("query: %d, %d", a, b)
	}
	// The longest allowed patterns of a request fit.
	var patterns []string
	for i := range MaxPatterns {
		patterns = append(patterns, fmt.Sprintf("%02d", i)+strings.Repeat("%", 30))
	}
	s.register("r@bot.example", "&Exclude="+url.QueryEscape(strings.Join(patterns, " ")))
	s.post("Action=Register&RobotEmail=s@bot.example&Exclude="+url.QueryEscape(strings.Join(append(patterns, "x"), " ")), 400)
}

func TestRUP_6_2_Unregister(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cred := s.register("r@bot.example", "")
	other := s.register("s@bot.example", "")
	if body := s.post("Action=unregister"+cred, 200); len(body) > 300 {
		t.Error(body)
	}
	for _, action := range []string{"Unregister", "ModifyPreferences", "GetSequenceNumber", "GetIndex&Span=1-day"} {
		s.post("Action="+action+cred, 400) // every later use
	}
	s.post("Action=GetSequenceNumber"+other, 200)
	s.register("r@bot.example", "") // and the address is free
	s.post("Action=GetSequenceNumber"+cred, 400)
}

// A wrong key and an unknown address get the same answer, which repeats neither.
func TestRUP_6_2_WrongCredentials(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cred := s.register("r@bot.example", "")
	s.register("s@bot.example", "")
	key := query(t, cred[1:]).Get("RegistrationKey")
	for _, action := range []string{"Unregister", "ModifyPreferences&Latency=week", "GetSequenceNumber", "GetIndex&Span=1-day"} {
		var bodies []string
		for _, c := range []string{
			"&RegistrationKey=sesame&RegisteredRobotEmail=r@bot.example", "&RegistrationKey=sesame&RegisteredRobotEmail=nobody@bot.example",
			"&RegistrationKey=" + key + "&RegisteredRobotEmail=s@bot.example", "&RegistrationKey=" + key + "&RegisteredRobotEmail=nobody@bot.example",
			"&RegistrationKey=" + key + "x&RegisteredRobotEmail=r@bot.example",
		} {
			bodies = append(bodies, s.post("Action="+action+c, 400))
		}
		if slices.Sort(bodies); bodies[0] != bodies[len(bodies)-1] || strings.Contains(bodies[0], "sesame") || strings.Contains(bodies[0], key) {
			t.Errorf("%s: %q", action, bodies)
		}
	}
	if r := s.stored("r@bot.example"); r.Latency != (Latency{1, Day}) {
		t.Errorf("changed: %+v", r)
	}
	s.post("Action=GetSequenceNumber&RegistrationKey="+key+"&RegisteredRobotEmail=R@BOT.example", 200)
	// A registration without a key, as in a damaged store, accepts no key.
	s.store.Update(t.Context(), func(tx Registrations) error { return tx.Put(Registration{Email: "broken@bot.example"}) })
	s.post("Action=GetSequenceNumber&RegistrationKey=x&RegisteredRobotEmail=broken@bot.example", 400)
}

func TestRUP_6_2_ModifyPreferences(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cred := s.register("r@bot.example", "&Exclude=%5C.gif$")
	first := s.stored("r@bot.example")
	check := func(form string, status int, latency Latency, exclude, includeOnly string) {
		t.Helper()
		s.post("Action=ModifyPreferences"+form+cred, status)
		r := s.stored("r@bot.example")
		if r.Latency != latency || strings.Join(r.Exclude, " ") != exclude || strings.Join(r.IncludeOnly, " ") != includeOnly || r.ID != first.ID {
			t.Fatalf("%s: %+v", form, r)
		}
	}
	check("", 200, Latency{1, Day}, `\.gif$`, "") // no optional parameter: no change
	check("&Latency=3-week", 200, Latency{3, Week}, `\.gif$`, "")
	check("&IncludeOnly=x", 400, Latency{3, Week}, `\.gif$`, "") // the result would have both
	check("&Latency=day&IncludeOnly=x", 400, Latency{3, Week}, `\.gif$`, "")
	check("&Latency=day&Exclude=a+b", 200, Latency{1, Day}, "a b", "")
	check("&Latency=month&Exclude=", 400, Latency{1, Day}, "a b", "") // all or nothing
	check("&Exclude=&IncludeOnly=x", 200, Latency{1, Day}, "", "x")
	check("&IncludeOnly=", 200, Latency{1, Day}, "", "")
	check("&Exclude=+", 200, Latency{1, Day}, "", "")

	s.register("taken@bot.example", "")
	check("&Latency=week&RobotEmail=TAKEN@bot.example", 400, Latency{1, Day}, "", "")
	check("&Latency=week&RobotEmail=not+one", 400, Latency{1, Day}, "", "")
	check("&RobotEmail=R@bot.example", 200, Latency{1, Day}, "", "") // its own, in another case
	s.post("Action=ModifyPreferences&RobotEmail=new@other.example"+cred, 200)
	s.post("Action=GetSequenceNumber"+cred, 400)
	moved := strings.ReplaceAll(cred, "=r@bot.example", "=new@other.example")
	s.post("Action=GetSequenceNumber"+moved, 200)
	if r := s.stored("new@other.example"); r.ID != first.ID || !bytes.Equal(r.KeyHash, first.KeyHash) {
		t.Errorf("%+v", r)
	}
	s.register("r@bot.example", "") // free again
}

func TestRUP_6_2_GetSequenceNumber(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cred := s.register("r@bot.example", "")
	if body := s.post("Action=GetSequenceNumber"+cred, 200); !strings.Contains(body, "\nSequenceNumber=0\n") {
		t.Error(body)
	}
	r := s.stored("r@bot.example")
	r.Sequence = 41
	s.store.Update(t.Context(), func(tx Registrations) error { return tx.Put(r) })
	if body := s.post("Action=GetSequenceNumber"+cred, 200); !strings.Contains(body, "\nSequenceNumber=41\n") {
		t.Error(body)
	}
}

func (s *site) index(form string) *Report {
	s.t.Helper()
	r, err := (&Answer{Status: 200, ContentType: "text/html", Body: []byte(s.post("Action=GetIndex"+form, 200))}).Report()
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestRUP_6_2_GetIndex(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	// Strangers get the number 0, and everything within the span that robots.txt does not close.
	if r := s.index("&Span=1-day"); r.Sequence != 0 || r.Base != "http://www.site.example/" || !slices.Equal(urls(r), []string{"C /docs/a.html", "D /old.html"}) {
		t.Errorf("%+v", r)
	}
	if r := s.index("&Span=2-day"); !slices.Equal(urls(r), []string{"C /i.gif", "C /docs/a.html", "D /old.html"}) {
		t.Errorf("%+v", r)
	}
	s.index("&Span=30-day")
	s.index("&Span=4-week")
	s.post("Action=GetIndex&Span=31-day", 400)
	s.post("Action=GetIndex&Span=5-week", 400)
	// Robots get their number, and what their filter wants.
	cred := s.register("r@bot.example", "&Exclude=%5C.gif$")
	reg := s.stored("r@bot.example")
	reg.Sequence = 7
	s.store.Update(t.Context(), func(tx Registrations) error { return tx.Put(reg) })
	if r := s.index("&Span=2-day" + cred); r.Sequence != 7 || !slices.Equal(urls(r), []string{"C /docs/a.html", "D /old.html"}) {
		t.Errorf("%+v", r)
	}
	only := s.register("s@bot.example", "&IncludeOnly=%5E/docs/")
	if r := s.index("&Span=2-day" + only); r.Sequence != 0 || !slices.Equal(urls(r), []string{"C /docs/a.html"}) {
		t.Errorf("%+v", r)
	}
	closed := newSite(t, func(o *ServerOptions) { o.Info.MaxQuerySpan, o.Index = Span{}, nil })
	closed.post("Action=GetIndex&Span=1-day", 501)
	if r, err := closed.Report(t.Context(), Registration{}, day0); err == nil {
		t.Errorf("a report of nothing: %+v", r)
	}
}

// slow is an Index that waits.
type slow struct{ begun, end chan struct{} }

func (s slow) Changes(ctx context.Context, _ time.Time, _ func(Entry) error) error {
	s.begun <- struct{}{}
	<-s.end
	return ctx.Err()
}

// Each answer may be long, so the number at the same time is limited; further clients are asked to
// come later.
func TestRUP_6_2_FewIndexesAtOnce(t *testing.T) {
	t.Parallel()
	index := slow{make(chan struct{}), make(chan struct{})}
	s := newSite(t, func(o *ServerOptions) { o.Index = index })
	var wg sync.WaitGroup
	for range maxIndexing {
		wg.Go(func() { s.ServeHTTP(httptest.NewRecorder(), post("Action=GetIndex&Span=1-day")) })
		<-index.begun
	}
	if status, _, h := s.do(post("Action=GetIndex&Span=1-day")); status != 503 || h.Get("Retry-After") != "30" {
		t.Errorf("one too many: %d %v", status, h)
	}
	s.register("r@bot.example", "")
	close(index.end)
	wg.Wait()
	wg.Go(func() {
		if status, body, _ := s.do(post("Action=GetIndex&Span=1-day")); status != 200 {
			t.Errorf("and again: %d %s", status, body)
		}
	})
	<-index.begun
	wg.Wait()
}

func TestRUP_6_2_ClosedPathsAreNotListed(t *testing.T) {
	t.Parallel()
	var asked []string
	var index changes
	for _, path := range []string{"/secret/x", "/a/../secret/y", "/%73ecret/z", "/open?q=1"} {
		index = append(index, entry(path, New, day0))
	}
	index = append(index, Entry{URL: "http://other.example/secret", Kind: New, Date: day0}, Entry{URL: "/relative", Kind: New, Date: day0})
	s := newSite(t, func(o *ServerOptions) {
		o.Index = index
		closed := o.Closed
		o.Closed = func(pathQuery string) bool { asked = append(asked, pathQuery); return closed(pathQuery) }
	})
	body := s.post("Action=GetIndex&Span=1-day", 200)
	if strings.Contains(body, "secret") || !strings.Contains(body, "New[2020-01-01]: open?q=1, relative\n") {
		t.Error(body)
	}
	if want := []string{"/secret/x", "/secret/y", "/secret/z", "/open?q=1", "/relative"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	if !strings.Contains(s.log.String(), "not of this site") {
		t.Error(s.log.String())
	}
}

func TestRUP_6_2_RateLimits(t *testing.T) {
	t.Parallel()
	now := day0
	s := newSite(t, func(o *ServerOptions) {
		o.RegisterPerHour, o.IndexPerHour = 2, 3
		o.Now = func() time.Time { return now }
	})
	from := func(addr, form string) (int, string) {
		r := post(form)
		r.RemoteAddr = addr
		status, _, h := s.do(r)
		return status, h.Get("Retry-After")
	}
	register := func(addr string, n int) (int, string) {
		return from(addr, fmt.Sprintf("Action=Register&RobotEmail=r%d@bot.example", n))
	}
	for n, want := range []int{200, 200, 503, 503} {
		if status, after := register("198.51.100.1:4000", n); status != want || (after == "1800") != (want == 503) {
			t.Errorf("register %d: %d, %q", n, status, after)
		}
	}
	if status, _ := register("198.51.100.2:4000", 10); status != 200 {
		t.Error("another address pays for it")
	}
	for n, want := range []int{200, 200, 503} { // a /64 is one customer
		if status, _ := register(fmt.Sprintf("[2001:db8::%d]:4000", n), 20+n); status != want {
			t.Errorf("IPv6 %d: %d", n, status)
		}
	}
	for n, want := range []int{200, 200, 200, 503} {
		if status, _ := from("198.51.100.1:4001", "Action=GetIndex&Span=1-day"); status != want {
			t.Errorf("index %d: %d", n, status)
		}
	}
	if status, _ := from("198.51.100.1:4001", "Action=GetSequenceNumber"+who); status != 400 {
		t.Error("other actions are limited")
	}
	now = now.Add(30 * time.Minute)
	for n, want := range []int{200, 503} {
		if status, _ := register("198.51.100.1:4000", 30+n); status != want {
			t.Errorf("half an hour later, %d: %d", n, status)
		}
	}
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(2)
	addr := netip.MustParseAddr("10.0.0.0")
	full := 0
	for range maxClients + 100 {
		addr = addr.Next()
		if l.take(day0, addr) > 0 {
			full++
		}
	}
	if len(l.clients) > maxClients+1 || full != 98 {
		t.Errorf("%d clients, %d refused; want 98: the last 100 share two", len(l.clients), full)
	}
	if l.take(day0.Add(2*hours), addr) != 0 || len(l.clients) != 1 {
		t.Errorf("%d clients after two hours", len(l.clients))
	}
	if l.take(day0, netip.Addr{}) != 0 || blockOf(netip.MustParseAddr("::ffff:10.0.0.1")) != netip.MustParsePrefix("10.0.0.1/32") {
		t.Error("odd addresses")
	}
}

func TestRUP_6_5_Caps(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *ServerOptions) { o.PerDomain, o.MaxRegistrations = 2, 4 })
	a := s.register("a@bot.example", "")
	s.register("b@bot.example", "")
	if body := s.post("Action=Register&RobotEmail=c@BOT.example", 400); !strings.Contains(body, "domain") {
		t.Error(body)
	}
	other := s.register("a@other.example", "")
	s.post("Action=ModifyPreferences&RobotEmail=c@bot.example"+other, 400) // still limited
	// within the domain the number does not grow
	s.post("Action=ModifyPreferences&RobotEmail=c@bot.example"+a, 200)
	s.register("b@other.example", "")
	status, _, h := s.do(post("Action=Register&RobotEmail=x@third.example"))
	if status != 503 || h.Get("Retry-After") == "" {
		t.Errorf("%d %v", status, h)
	}
}

// Aliases of a mailbox count together, so nobody gets many questions under many names.
func TestRUP_6_5_Aliases(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *ServerOptions) { o.PerMailbox = 2 })
	s.register("robot%2Ba@bot.example", "")
	cred := s.register("Robot%2Bb@bot.example", "")
	if body := s.post("Action=Register&RobotEmail=ROBOT@bot.example", 400); !strings.Contains(body, "mailbox") {
		t.Error(body)
	}
	s.register("j.doe@gmail.com", "")
	jdoe := s.register("jd.oe%2Bx@googlemail.com", "")
	s.post("Action=Register&RobotEmail=jdoe@gmail.com", 400)
	s.post("Action=ModifyPreferences&RobotEmail=robot%2Bc@bot.example"+jdoe, 400) // still limited
	// within the mailbox the number does not grow
	s.post("Action=ModifyPreferences&RobotEmail=robot%2Bc@bot.example"+cred, 200)
	s.register("j.doe@bot.example", "")
	s.register("jdoe@bot.example", "") // in other domains dots may matter
}

func TestRUP_6_5_Confirmation(t *testing.T) {
	t.Parallel()
	now := day0
	var asked []string
	var fail error
	s := newSite(t, func(o *ServerOptions) {
		o.Now = func() time.Time { return now }
		o.Confirm = func(_ context.Context, r Registration) error {
			asked = append(asked, r.Email)
			return fail
		}
	})
	cred := s.register("r@bot.example", "")
	if r := s.stored("r@bot.example"); !r.Pending || !slices.Equal(asked, []string{"r@bot.example"}) {
		t.Errorf("%+v, asked %q", r, asked)
	}
	s.post("Action=Register&RobotEmail=r@bot.example", 400)
	now = now.Add(47 * hours)
	s.post("Action=Register&RobotEmail=r@bot.example", 400)
	now = now.Add(hours) // nobody has confirmed: somebody else may try
	again := s.register("r@bot.example", "")
	s.post("Action=GetSequenceNumber"+cred, 400)
	r := s.stored("r@bot.example")
	r.Pending = false
	s.store.Update(t.Context(), func(tx Registrations) error { return tx.Put(r) })
	now = now.Add(100 * hours)
	s.post("Action=Register&RobotEmail=r@bot.example", 400)

	s.post("Action=ModifyPreferences&Latency=week"+again, 200) // no question is needed
	s.post("Action=ModifyPreferences&RobotEmail=victim@else.example"+again, 200)
	if r := s.stored("victim@else.example"); !r.Pending || !r.Asked.Equal(now) || asked[len(asked)-1] != "victim@else.example" {
		t.Errorf("%+v, asked %q", r, asked)
	}
	fail = errors.New("no mail today")
	s.post("Action=Register&RobotEmail=s@bot.example", 503)
	if r := s.stored("s@bot.example"); r.ID != "" {
		t.Errorf("left behind: %+v", r)
	}
	moved := strings.ReplaceAll(again, "r@bot.example", "victim@else.example")
	s.post("Action=ModifyPreferences&RobotEmail=t@bot.example"+moved, 503)
	if r := s.stored("victim@else.example"); r.ID == "" || s.stored("t@bot.example").ID != "" {
		t.Error("a change that failed is half done")
	}
}

// While a question cannot be sent, somebody else registers the former address: undoing the change
// does not affect this registration.
func TestRUP_6_5_UndoneMovesTakeNothing(t *testing.T) {
	t.Parallel()
	var s *site
	var others string
	s = newSite(t, func(o *ServerOptions) {
		o.Confirm = func(_ context.Context, r Registration) error {
			if r.Email != "new@bot.example" {
				return nil
			}
			others = s.register("old@bot.example", "")
			return errors.New("no mail today")
		}
	})
	cred := s.register("old@bot.example", "")
	s.post("Action=ModifyPreferences&RobotEmail=new@bot.example"+cred, 503)
	s.post("Action=GetSequenceNumber"+others, 200)
	s.post("Action=GetSequenceNumber"+cred, 400)
	if r := s.stored("new@bot.example"); r.ID != "" {
		t.Errorf("left behind: %+v", r)
	}
}

// The owner of a key cannot cause questions to many strangers by naming their addresses one after
// the other.
func TestRUP_6_5_MovesAreLimited(t *testing.T) {
	t.Parallel()
	asked := 0
	s := newSite(t, func(o *ServerOptions) {
		o.RegisterPerHour = 3
		o.Confirm = func(context.Context, Registration) error { asked++; return nil }
	})
	cred := s.register("r@bot.example", "")
	for n, want := range []int{200, 200, 503, 503} {
		to := fmt.Sprintf("victim%d@else.example", n)
		status, body, h := s.do(post("Action=ModifyPreferences&RobotEmail=" + to + cred))
		if status != want || (h.Get("Retry-After") == "1200") != (want == 503) {
			t.Errorf("move %d: %d, Retry-After %q: %s", n, status, h.Get("Retry-After"), body)
		}
		if status == 200 {
			cred = cred[:strings.LastIndex(cred, "=")+1] + to
		}
	}
	if asked != 3 {
		t.Errorf("%d addresses were asked, want 3", asked)
	}
	s.post("Action=ModifyPreferences&Latency=week"+cred, 200) // this sends no mail
}

type brokenStore struct{}

func (brokenStore) View(context.Context, func(Registrations) error) error {
	return errors.New("disk on fire at sesame")
}

func (brokenStore) Update(context.Context, func(Registrations) error) error {
	return errors.New("disk on fire at sesame")
}

// Failures of the server are 5xx, and their details are not sent.
func TestServerFailures(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *ServerOptions) { o.Store = brokenStore{} })
	for _, form := range []string{"Action=Register&RobotEmail=r@bot.example", "Action=Unregister" + who, "Action=GetSequenceNumber" + who, "Action=GetIndex&Span=1-day" + who} {
		if body := s.post(form, 503); strings.Contains(body, "fire") {
			t.Error(body)
		}
	}
	if !strings.Contains(s.log.String(), "fire") {
		t.Error("not logged")
	}
}

// Reasons quote text of a stranger, who must not control the page.
func TestErrorsAreEscaped(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, form := range []string{"&Latency=%3Cscript%3E", "&Exclude=(%3Cscript%3E", "&IncludeOnly=%3Cscript%3E("} {
		if body := s.post("Action=Register&RobotEmail=r@bot.example"+form, 400); strings.Contains(body, "<script>") {
			t.Error(body)
		}
	}
}

func TestRUP_6_2_TooManyChanges(t *testing.T) {
	t.Parallel()
	var most changes
	for i := range MaxPaths {
		most = append(most, entry(fmt.Sprintf("/%d", i), New, day0), entry("/again", Change, day0))
	}
	full := newSite(t, func(o *ServerOptions) { o.Index = most[:2*MaxPaths-2] })
	if r := full.index("&Span=1-day"); len(r.Entries) != MaxPaths || r.Truncated {
		t.Errorf("at the limit: %d, %v", len(r.Entries), r.Truncated)
	}
	over := newSite(t, func(o *ServerOptions) { o.Index = append(slices.Clone(most), entry("/a", New, day0)) })
	if body := over.post("Action=GetIndex&Span=1-day", 400); !strings.Contains(body, "Span") {
		t.Error(body)
	}
	// A mailed report has no such limit, and has several parts.
	r, err := over.Report(t.Context(), Registration{Sequence: 4}, day0)
	if err != nil || len(r.Entries) != MaxPaths+2 || len(r.Parts()) != 2 || r.Sequence != 4 {
		t.Errorf("%d entries, %v", len(r.Entries), err)
	}
	if _, err := over.Report(t.Context(), Registration{Exclude: []string{"("}}, day0); err == nil {
		t.Error("a broken filter lists everything")
	}
}

func TestNewServerChecks(t *testing.T) {
	t.Parallel()
	good := ServerOptions{Info: &Info{CGI: "/rup"}, Base: "http://www.site.example/", Store: new(MemoryStore)}
	if _, err := NewServer(good); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*ServerOptions){
		"info": func(o *ServerOptions) { o.Info = nil }, "store": func(o *ServerOptions) { o.Store = nil }, "base": func(o *ServerOptions) { o.Base = "here" },
		"cgi": func(o *ServerOptions) { o.Info = &Info{} }, "index": func(o *ServerOptions) { o.Info = &Info{CGI: "/rup", MaxQuerySpan: Span{1, Day}} },
	} {
		o := good
		spoil(&o)
		if _, err := NewServer(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestServeInfo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	w := httptest.NewRecorder()
	s.ServeInfo(w, httptest.NewRequest("GET", "/rupinfo.txt", nil))
	i, err := ParseInfo(w.Body.Bytes(), mustURL(t, "http://www.site.example/rupinfo.txt"))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || err != nil || i.CGI != "http://www.site.example/rup" {
		t.Errorf("%d %v %+v, %v", w.Code, w.Header(), i, err)
	}
}

// Many register the same address at the same time: one succeeds.
func TestRegistrationsRace(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards won
	won := 0
	for range 16 {
		wg.Go(func() {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, post("Action=Register&RobotEmail=r@bot.example"))
			io.Copy(io.Discard, w.Body)
			mu.Lock()
			defer mu.Unlock()
			if w.Code == 200 {
				won++
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d keys for one address", won)
	}
}
