package agenthost

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/agenthost/robottest"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/botauth"
)

func options(t testing.TB, root string) Options {
	t.Helper()
	return Options{
		Root: root, Base: "https://www.example.org/", Dir: filepath.Join(t.TempDir(), "state"), Index: "index.html", Extensions: DefaultExtensions(),
		Address: "atp://www.example.org:10434", Runs: 2, Memory: 64 << 20, CPU: time.Minute, Wall: time.Hour, Read: 1 << 20, Sent: 1 << 20, Document: 1000,
		Keep: time.Hour, Results: 1 << 30, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	}
}

// rig is a host on a network in memory, and an operator of robots on its allow-list.
type rig struct {
	t    *testing.T
	net  *simnet.Net
	o    Options
	host *Host
	key  *botauth.Key
	end  func()
}

func newRig(t *testing.T, change func(o *Options)) *rig {
	t.Helper()
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, net: simnet.New(simnet.Options{}), o: options(t, newRoot(t)), key: key}
	robot, err := ParseRobot(RobotLine("example", mobile.KeyText(key.Public()), "/docs/") + " runs=1000")
	if err != nil {
		t.Fatal(err)
	}
	r.o.Allowed = []Robot{robot}
	if change != nil {
		change(&r.o)
	}
	r.start()
	t.Cleanup(func() { r.end() })
	return r
}

func (r *rig) start() {
	r.t.Helper()
	host, err := New(r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := r.net.Listen("tcp", "192.0.2.1:10434")
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- host.Run(ctx, l) }()
	r.host = host
	r.end = func() {
		cancel()
		if err := errors.Join(<-done, host.Close()); err != nil {
			r.t.Error(err)
		}
	}
}

// do sends a request and returns the response with its body.
func (r *rig) do(method atp.Method, header map[string]string, body []byte) (*atp.Response, []byte) {
	r.t.Helper()
	client := &atp.Client{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return r.net.Dial(ctx, network, "192.0.2.1:10434")
	}}
	request := &atp.Request{Method: method, Header: textproto.MIMEHeader{}}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if body != nil {
		request.Body, request.Length = bytes.NewReader(body), int64(len(body))
	}
	res, err := client.Do(r.t.Context(), atp.Address{Host: "www.example.org", Port: 10434}, request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, text
}

// ticket is one that the host accepts.
func (r *rig) ticket(module, input []byte) mobile.Ticket {
	now := time.Now().Unix()
	return mobile.Ticket{
		Host: "atp://www.example.org:10434", Site: "https://www.example.org", Subtree: "/docs/", Token: "ExampleBot",
		Module: mobile.Digest(module), Input: mobile.Digest(input), NotBefore: now, NotAfter: now + 3600,
	}
}

func (r *rig) body(t mobile.Ticket, key *botauth.Key, module, input []byte) []byte {
	r.t.Helper()
	line, signature, err := t.Sign(key, rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := mobile.WriteDispatch(&b, line, signature, input); err != nil {
		r.t.Fatal(err)
	}
	return append(b.Bytes(), module...)
}

func dispatchHeader() map[string]string {
	return map[string]string{atp.ContentType: mobile.ContentType}
}

// dispatch starts a robot and returns its Agent-Id.
func (r *rig) dispatch(module []byte, input string) string {
	r.t.Helper()
	res, _ := r.do(atp.Dispatch, dispatchHeader(), r.body(r.ticket(module, []byte(input)), r.key, module, []byte(input)))
	id := res.Header.Get(atp.AgentID)
	if res.Status != 202 || id == "" {
		r.t.Fatalf("DISPATCH: %d %s", res.Status, res.Reason)
	}
	return id
}

// state asks for the state of a run.
func (r *rig) state(method atp.Method, id string) (s mobile.Summary) {
	r.t.Helper()
	res, body := r.do(method, map[string]string{atp.AgentID: id}, nil)
	if res.Status != 200 {
		r.t.Fatalf("%s: %d %s", method, res.Status, res.Reason)
	}
	if err := json.Unmarshal(body, &s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// fetch fetches results until their end.
func (r *rig) fetch(id string) []byte {
	r.t.Helper()
	<-r.host.find(id).done
	res, body := r.do(atp.Fetch, map[string]string{atp.AgentID: id}, nil)
	if res.Status != 200 || res.Length != int64(len(body)) {
		r.t.Fatalf("FETCH: %d %s, %d octets of %d", res.Status, res.Reason, len(body), res.Length)
	}
	return body
}

// running is a robot that logs an octet and runs for ever, and quick one that sends an octet.
func running() []byte {
	return robottest.Module{Imports: []string{"log"}, Memory: 1, Start: slices.Concat(robottest.Call(0, 0, 1), robottest.Drop, robottest.Loop())}.Octets()
}

func quick() []byte {
	return robottest.Module{Imports: []string{"emit"}, Memory: 1, Start: slices.Concat(robottest.Call(0, 0, 1), robottest.Drop)}.Octets()
}

func TestVisit(t *testing.T) {
	r := newRig(t, nil)
	module := robottest.Robot(t)
	input := "list 1000\nopen /docs/a.html\nopen /other/a.html\nopen /docs/closed/a.html\nopen /docs/out.html\nopen /docs/large.txt\nlog a line\nemit 300000\nlog-many 100000\n"
	id := r.dispatch(module, input)
	body := r.fetch(id)
	records, lines, end := readResults(t, body)
	want := append(slices.Sorted(slices.Values(listed)), "end of list 0")
	if n := len(want); !slices.Equal(records[:n], want) {
		t.Errorf("listed: %q", records)
	} else if rest := records[n:]; len(rest) != 7 || !strings.HasSuffix(rest[0], "\n\na") || !slices.Equal(rest[1:5], []string{"/other/a.html -4", "/docs/closed/a.html -4", "/docs/out.html -3", "/docs/large.txt -5"}) ||
		len(rest[5]) != 300_000 || rest[6] != "log -7" {
		t.Errorf("sent: %.200q", rest)
	}
	if lines[0] != "a line" || len(lines) < 1000 || len(lines) > maxLogged {
		t.Errorf("%d lines", len(lines))
	}
	if end.Outcome != mobile.Done || end.Documents != 1 || end.Read != 1 || end.Records != int64(len(records)) || end.CPU <= 0 || end.Sent <= 0 || end.Sent >= int64(len(body)) {
		t.Errorf("%+v, %d octets", end, len(body))
	}
	if got := r.state(atp.Message, id); got != end {
		t.Errorf("MESSAGE: %+v, want %+v", got, end)
	}
	// Resumed: at its beginning, within a frame, before and at its end.
	for _, from := range []int{0, 1, len(body) / 2, len(body) - 1, len(body)} {
		res, rest := r.do(atp.Fetch, map[string]string{atp.AgentID: id, atp.Range: "octets=" + strconv.Itoa(from) + "-"}, nil)
		if res.Status != 206 || !bytes.Equal(rest, body[from:]) || res.Length != int64(len(rest)) {
			t.Errorf("from %d: %d %s, %d octets", from, res.Status, res.Reason, len(rest))
		}
		if want := "octets " + strconv.Itoa(from) + "-/" + strconv.Itoa(len(body)); from < len(body) && res.Header.Get(atp.ContentRange) != want {
			t.Errorf("Content-Range %q, want %q", res.Header.Get(atp.ContentRange), want)
		}
	}
	for value, status := range map[string]int{"octets=" + strconv.Itoa(len(body)+1) + "-": 416, "octets=1-2": 400, "bytes=0-": 400} {
		if res, _ := r.do(atp.Fetch, map[string]string{atp.AgentID: id, atp.Range: value}, nil); res.Status != status {
			t.Errorf("%s: %d %s", value, res.Status, res.Reason)
		}
	}
	// The module is known now.
	res, _ := r.do(atp.Dispatch, dispatchHeader(), r.body(r.ticket(module, []byte("exit 3\n")), r.key, nil, []byte("exit 3\n")))
	if res.Status != 202 {
		t.Fatalf("%d %s", res.Status, res.Reason)
	}
	if _, _, end := readResults(t, r.fetch(res.Header.Get(atp.AgentID))); end.Outcome != mobile.Failed || !strings.Contains(end.Reason, "code 3") {
		t.Errorf("%+v", end)
	}
	var table bytes.Buffer
	if err := Runs(r.o.Dir, &table); err != nil || strings.Count(table.String(), "\n") != 3 || !strings.Contains(table.String(), "failed") || !strings.Contains(table.String(), "example") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

func TestRetract(t *testing.T) {
	r := newRig(t, nil)
	id := r.dispatch(running(), "")
	if s := r.state(atp.Message, id); s.Outcome != "running" {
		t.Errorf("%+v", s)
	}
	if s := r.state(atp.Retract, id); s.Outcome != mobile.Retracted {
		t.Errorf("%+v", s)
	}
	if s := r.state(atp.Retract, id); s.Outcome != mobile.Retracted {
		t.Errorf("again: %+v", s)
	}
	if _, _, end := readResults(t, r.fetch(id)); end.Outcome != mobile.Retracted {
		t.Errorf("%+v", end)
	}
	for _, c := range []struct {
		method atp.Method
		id     string
		status int
	}{{atp.Fetch, strings.Repeat("0", 32), 404}, {atp.Message, "../agenthost", 404}, {atp.Retract, "", 400}, {"GET", id, 501}} {
		header := map[string]string{}
		if c.id != "" {
			header[atp.AgentID] = c.id
		}
		if res, _ := r.do(c.method, header, nil); res.Status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.id, res.Status, res.Reason)
		}
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t, nil)
	stranger, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	module := quick()
	good := func() mobile.Ticket { return r.ticket(module, nil) }
	with := func(change func(*mobile.Ticket)) []byte {
		tk := good()
		change(&tk)
		return r.body(tk, r.key, module, nil)
	}
	replayed := r.body(good(), r.key, module, nil)
	if res, _ := r.do(atp.Dispatch, dispatchHeader(), replayed); res.Status != 202 {
		t.Fatalf("%d %s", res.Status, res.Reason)
	}
	changed := bytes.Clone(replayed)
	changed[bytes.Index(changed, []byte("ExampleBot"))] ^= 1
	unknown := robottest.Module{Memory: 7}.Octets()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for _, part := range [][]byte{r.body(good(), r.key, nil, nil), make([]byte, mobile.MaxModule+1)} {
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	zipped := dispatchHeader()
	zipped[atp.ContentEncoding] = "gzip"
	other := dispatchHeader()
	other[atp.ContentEncoding] = "br"
	hour := int64(3600)
	for _, c := range []struct {
		what   string
		header map[string]string
		body   []byte
		status int
		reason string
	}{
		{"replayed", nil, replayed, 409, "used before"},
		{"changed", nil, changed, 401, "signature"},
		{"a stranger's key", nil, r.body(good(), stranger, module, nil), 401, "allow-list"},
		{"unsigned", nil, append(append(slices.Clone(replayed[:bytes.IndexByte(replayed, '\n')+1]), "\n0\n"...), module...), 401, "signature"},
		{"expired", nil, with(func(t *mobile.Ticket) { t.NotBefore, t.NotAfter = t.NotBefore-2*hour, t.NotAfter-2*hour }), 403, "expired"},
		{"too early", nil, with(func(t *mobile.Ticket) { t.NotBefore, t.NotAfter = t.NotBefore+2*hour, t.NotAfter+2*hour }), 403, "valid from"},
		{"for another host", nil, with(func(t *mobile.Ticket) { t.Host = "atp://other.example:10434" }), 403, "another host"},
		{"for another port", nil, with(func(t *mobile.Ticket) { t.Host = "atp://www.example.org" }), 403, "another host"},
		{"for another site", nil, with(func(t *mobile.Ticket) { t.Site = "http://www.example.org" }), 403, "another site"},
		{"for another subtree", nil, with(func(t *mobile.Ticket) { t.Subtree = "/" }), 403, "may read"},
		{"for a subtree that is no directory", nil, with(func(t *mobile.Ticket) { t.Subtree = "/docs/none/" }), 403, "no directory"},
		{"for a subtree out of it", nil, with(func(t *mobile.Ticket) { t.Subtree = "/docs/../other/" }), 403, "may read"},
		{"for a subtree in another spelling", nil, with(func(t *mobile.Ticket) { t.Subtree = "/docs/%61/" }), 403, "may read"},
		{"another input", nil, r.body(good(), r.key, module, []byte("input")), 400, "input"},
		{"another module", nil, r.body(good(), r.key, unknown, nil), 400, "module"},
		{"an unknown module", nil, r.body(r.ticket(unknown, nil), r.key, nil, nil), 428, "send the module"},
		{"no ticket", nil, []byte("{}\nc2ln\n0\n"), 400, "ticket"},
		{"nothing", nil, []byte{}, 400, "missing"},
		{"no lines", nil, []byte("x"), 400, "ends within"},
		{"another type", map[string]string{atp.ContentType: "x-aglets"}, replayed, 415, mobile.ContentType},
		{"another encoding", other, replayed, 415, "gzip"},
		{"no gzip", zipped, replayed, 400, "gzip"},
		{"a gzip bomb", zipped, bomb.Bytes(), 400, "more than"},
		{"half a gzip", zipped, bomb.Bytes()[:200], 408, "completely"},
	} {
		header := c.header
		if header == nil {
			header = dispatchHeader()
		}
		res, _ := r.do(atp.Dispatch, header, c.body)
		if res.Status != c.status || !strings.Contains(res.Reason, c.reason) {
			t.Errorf("%s: %d %s, want %d %q", c.what, res.Status, res.Reason, c.status, c.reason)
		}
	}
	if runs, err := r.host.store.runs(); err != nil || len(runs) != 1 {
		t.Errorf("%d runs were counted, %v", len(runs), err)
	}
	left, err := filepath.Glob(filepath.Join(r.o.Dir, "*", "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("more than a module and results are in the data folder: %q, %v", left, err)
	}
}

func TestQuotaIsRefused(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Allowed[0].Quota.Runs = 1 })
	module := quick()
	r.dispatch(module, "")
	res, _ := r.do(atp.Dispatch, dispatchHeader(), r.body(r.ticket(module, nil), r.key, nil, nil))
	if res.Status != 429 || res.Header.Get(atp.RetryAfter) == "" || !strings.Contains(res.Reason, "1 runs") {
		t.Errorf("%d %s, Retry-After %q", res.Status, res.Reason, res.Header.Get(atp.RetryAfter))
	}
}

func TestBusy(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Runs = 1 })
	id := r.dispatch(running(), "")
	body := r.body(r.ticket(quick(), nil), r.key, quick(), nil)
	if res, _ := r.do(atp.Dispatch, dispatchHeader(), body); res.Status != 503 || res.Header.Get(atp.RetryAfter) == "" {
		t.Errorf("%d %s", res.Status, res.Reason)
	}
	r.state(atp.Retract, id)
	// The slot is free soon after the end; the same ticket was not used up.
	testaid.Until(t, "the robot is admitted", func() bool {
		res, _ := r.do(atp.Dispatch, dispatchHeader(), body)
		return res.Status == 202
	})
}

func TestLimitsOfARun(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Read, o.Sent = 5, 50_000 })
	module := robottest.Robot(t)
	for input, want := range map[string]string{
		"open /docs/a/b.txt\nopen /docs/a/b.txt\nopen /docs/a/b.txt\n": mobile.ReadLimit,
		"emit-forever\n": mobile.SendLimit,
	} {
		_, _, end := readResults(t, r.fetch(r.dispatch(module, input)))
		if end.Outcome != want || end.Reason == "" || end.Read > 5 || end.Sent > 50_000 {
			t.Errorf("%q: %+v", input, end)
		}
	}
}

// TestKilled: what a host leaves behind that is killed while a robot runs. The next one ends the
// run, counts all that it had reserved, and has its results.
func TestKilled(t *testing.T) {
	r := newRig(t, nil)
	old := r.dispatch(quick(), "")
	whole := r.fetch(old)
	id := r.dispatch(running(), "")
	copied := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(copied, os.DirFS(r.o.Dir)); err != nil {
		t.Fatal(err)
	}
	r.end()
	torn, err := os.OpenFile(filepath.Join(copied, "results", id+resultsEnd), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.Write(whole[:len(whole)-3]); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(torn.Close(), os.WriteFile(filepath.Join(copied, "results", "unknown"+resultsEnd), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r.o.Dir, r.o.Registry = copied, prometheus.NewRegistry()
	r.start()
	if _, _, end := readResults(t, r.fetch(id)); end.Outcome != mobile.Interrupted {
		t.Errorf("%+v", end)
	}
	if again := r.fetch(old); !bytes.Equal(again, whole) {
		t.Error("results of a run that had ended are different")
	}
	if s := r.state(atp.Retract, id); s.Outcome != mobile.Interrupted {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(r.host.resultsName("unknown")); err == nil {
		t.Error("a file without a record is kept")
	}
	// Once more: everything is as it was left, and nothing is ended twice.
	r.end()
	r.o.Registry = prometheus.NewRegistry()
	r.start()
	if _, _, end := readResults(t, r.fetch(id)); end.Outcome != mobile.Interrupted {
		t.Errorf("%+v", end)
	}
}

// TestStopped: a host that is stopped ends its robots.
func TestStopped(t *testing.T) {
	r := newRig(t, nil)
	id := r.dispatch(running(), "")
	r.end()
	r.o.Registry = prometheus.NewRegistry()
	r.start()
	if _, _, end := readResults(t, r.fetch(id)); end.Outcome != mobile.Interrupted || end.Reason != "the host was stopped" {
		t.Errorf("%+v", end)
	}
}

// TestMemoryOfRuns: runs that have ended, whose results are kept, need nearly no memory.
func TestMemoryOfRuns(t *testing.T) {
	r := newRig(t, nil)
	module := quick()
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r.fetch(r.dispatch(module, ""))
	before := heap()
	const runs = 20
	for range runs {
		r.fetch(r.dispatch(module, ""))
		// Its slot is free a little after its end.
		testaid.Until(t, "the slot is free", func() bool { return len(r.host.slots) == 0 })
	}
	if each := (heap() - before) / runs; each > 100<<10 {
		t.Errorf("each run that has ended needs %d bytes", each)
	}
}

func TestResultsExpire(t *testing.T) {
	r := newRig(t, nil)
	var ids []string
	for range 3 {
		id := r.dispatch(quick(), "")
		r.fetch(id)
		ids = append(ids, id)
	}
	id := r.dispatch(running(), "")
	left := func() (list []string) {
		for _, id := range append(ids, id) {
			_, err := os.Stat(r.host.resultsName(id))
			if (err == nil) != (r.host.find(id) != nil) {
				t.Errorf("%s: known, or on the disk", id)
			}
			if err == nil {
				list = append(list, id)
			}
		}
		return list
	}
	expire := func(after time.Duration) {
		if err := r.host.expire(time.Now().Add(after)); err != nil {
			t.Error(err)
		}
	}
	expire(0)
	if got := left(); len(got) != 4 {
		t.Errorf("%q", got)
	}
	most := r.host.find(ids[1]).results.length() + r.host.find(ids[2]).results.length()
	r.host.mu.Lock()
	r.host.p.Results = most
	r.host.mu.Unlock()
	expire(0)
	if got := left(); !slices.Equal(got, []string{ids[1], ids[2], id}) {
		t.Errorf("too large together: %q", got)
	}
	// As many runs as are kept, and one more: the oldest of them goes.
	add := func(name string) {
		other := &run{record: record{ID: name, Ended: time.Now().Add(time.Minute)}, done: make(chan struct{}), results: stored(0)}
		close(other.done)
		r.host.mu.Lock()
		r.host.runs[name] = other
		r.host.mu.Unlock()
	}
	for n := 3; n < maxKept; n++ {
		add(strconv.Itoa(n))
	}
	expire(0)
	if got := left(); !slices.Equal(got, []string{ids[1], ids[2], id}) {
		t.Errorf("as many as may be: %q", got)
	}
	add("one more")
	expire(0)
	if got := left(); !slices.Equal(got, []string{ids[2], id}) {
		t.Errorf("too many: %q", got)
	}
	r.host.mu.Lock()
	maps.DeleteFunc(r.host.runs, func(id string, _ *run) bool { return len(id) < 32 })
	r.host.mu.Unlock()
	expire(2 * time.Hour)
	if got := left(); !slices.Equal(got, []string{id}) {
		t.Errorf("too old: %q", got)
	}
}

func TestParseRobot(t *testing.T) {
	key := mobile.KeyText(make([]byte, 32))
	got, err := ParseRobot("name=a,key=" + key + " subtree=/docs/ subtree=/blog/x/\truns=3 read=2GiB sent=1MiB cpu=90s")
	want := Robot{"a", key, []string{"/docs/", "/blog/x/"}, Quota{3, 2 << 30, 1 << 20, 90 * time.Second}}
	if err != nil || got.Name != want.Name || got.Key != want.Key || !slices.Equal(got.Subtrees, want.Subtrees) || got.Quota != want.Quota {
		t.Errorf("%+v, %v", got, err)
	}
	for _, line := range []string{
		"", "name=a", "name=a key=" + key, "name=a key=x subtree=/", "name=a name=b key=" + key + " subtree=/", "name=a key=" + key + " subtree=docs/", "name=a key=" + key + " subtree=/docs",
		"name=a key=" + key + " subtree=/a/../b/", "name=a key=" + key + " subtree=/%61/", "name=a key=" + key + " subtree=/a//b/", "name=a key=" + key + " subtree=/ runs=0", "name=a key=" + key + " subtree=/ read=much",
		"name=a key=" + key + " subtree=/ cpu=1ms", "name=a key=" + key + " subtree=/ free=1", "words",
	} {
		if _, err := ParseRobot(line); err == nil {
			t.Errorf("%q is an entry", line)
		}
	}
}

func TestCheck(t *testing.T) {
	r := newRig(t, nil)
	var out bytes.Buffer
	if err := Check(t.Context(), r.o, &out); err != nil || !strings.Contains(out.String(), "Mobile-agent-server: / atp://www.example.org:10434") || !strings.Contains(out.String(), "no problems found") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for what, change := range map[string]func(*Options){
		"root":        func(o *Options) { o.Root = filepath.Join(o.Root, "none") },
		"directory":   func(o *Options) { o.Root = filepath.Join(o.Root, "index.html") },
		"inside":      func(o *Options) { o.Dir = filepath.Join(o.Root, "state") },
		"base":        func(o *Options) { o.Base = "https://www.example.org/docs" },
		"address":     func(o *Options) { o.Address = "www.example.org" },
		"remove":      func(o *Options) { o.Address = "atp://www.example.org/place" },
		"extension":   func(o *Options) { o.Extensions = []string{"php"} },
		"allow-robot": func(o *Options) { o.Allowed = nil },
		"two robots":  func(o *Options) { o.Allowed = append(slices.Clone(o.Allowed), o.Allowed[0]) },
		"/none/":      func(o *Options) { o.Allowed = slices.Clone(o.Allowed); o.Allowed[0].Subtrees = []string{"/none/"} },
	} {
		o := r.o
		change(&o)
		if err := Check(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
