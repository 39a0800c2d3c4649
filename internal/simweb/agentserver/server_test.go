package agentserver_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/agentserver"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/atp"
)

const (
	site    = "http://h0000.sim.test"
	address = "atp://h0000.sim.test:434"
	delay   = 100 * time.Millisecond
)

// signer is the key of a crawl.
type signer struct{ key ed25519.PrivateKey }

func (s signer) Public() ed25519.PublicKey   { return s.key.Public().(ed25519.PublicKey) }
func (s signer) SignMessage(b []byte) []byte { return ed25519.Sign(s.key, b) }

var (
	key    = signer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))}
	module = []byte("\x00asm, not really")
)

// rig is a web with a site that has an agent server, and a client.
type rig struct {
	t      *testing.T
	net    *simnet.Net
	web    *simweb.Server
	at     atp.Address
	client atp.Client
	nonces int
}

// setUp starts a web. pages is the number of numbered pages.
func setUp(t *testing.T, b agentserver.Behavior, pages int, features ...simweb.Feature) *rig {
	r := &rig{t: t, net: simnet.New(simnet.Options{Latency: 3 * time.Millisecond})}
	cfg := simweb.Config{Hosts: 2, PagesPerHost: pages, PageBytes: 1500, Listen: r.net.Listen, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }}
	cfg.Behaviors = map[int]simweb.Behavior{0: {Robots: simweb.RobotsSubtree, Features: features, Agents: []simweb.AgentServer{{Paths: []string{"/"}, Behavior: b}}}}
	var err error
	if r.web, err = simweb.Start(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.web.Close() })
	if r.at, err = atp.ParseAddress(address); err != nil {
		t.Fatal(err)
	}
	r.client = atp.Client{UserAgent: "curtsy/1 (+test@example.org)", Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		time.Sleep(delay) // a polite client
		return r.net.Dial(ctx, network, r.web.Addr())
	}}
	return r
}

func (r *rig) server() *agentserver.Server { return r.web.AgentServer(address) }

// ticket returns one that is valid.
func (r *rig) ticket(input []byte) mobile.Ticket {
	now := time.Now()
	return mobile.Ticket{Host: address, Site: site, Subtree: "/", Token: "curtsy", Module: mobile.Digest(module), Input: mobile.Digest(input), NotBefore: now.Unix(), NotAfter: now.Add(time.Hour).Unix()}
}

// input returns one that is valid.
func input(in reading.Input) []byte {
	in.Token, in.Want, in.MaxSize = "curtsy", cmp.Or(in.Want, reading.Pages), cmp.Or(in.MaxSize, 1<<20)
	b, err := in.Encode()
	if err != nil {
		panic(err)
	}
	return b
}

// send sends a robot, with its module if the server does not have it. It returns the last status.
func (r *rig) send(t mobile.Ticket, input []byte) (*atp.Response, []byte) {
	r.t.Helper()
	r.nonces++
	line, signature, err := t.Sign(key, bytes.NewReader(bytes.Repeat([]byte{byte(r.nonces), byte(r.nonces >> 8)}, 16)))
	if err != nil {
		r.t.Fatal(err)
	}
	var body bytes.Buffer
	if err := mobile.WriteDispatch(&body, line, signature, input); err != nil {
		r.t.Fatal(err)
	}
	res := r.post(body.Bytes())
	if res.Status == 428 {
		body.Write(module)
		res = r.post(body.Bytes())
	}
	return res, body.Bytes()
}

func (r *rig) post(body []byte) *atp.Response {
	res, _ := r.do(&atp.Request{Method: atp.Dispatch, Header: textproto.MIMEHeader{atp.ContentType: {mobile.ContentType}}, Body: bytes.NewReader(body), Length: int64(len(body))})
	return res
}

// do sends a request and reads the response as far as it comes.
func (r *rig) do(q *atp.Request) (*atp.Response, []byte) {
	r.t.Helper()
	res, err := r.client.Do(r.t.Context(), r.at, q)
	if err != nil {
		r.t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	res.Body.Close()
	return res, b
}

func (r *rig) ask(m atp.Method, id string, from int) (*atp.Response, []byte) {
	r.t.Helper()
	h := textproto.MIMEHeader{atp.AgentID: {id}}
	if from > 0 {
		h.Set(atp.Range, "octets="+strconv.Itoa(from)+"-")
	}
	return r.do(&atp.Request{Method: m, Header: h})
}

// run sends a robot and fetches all that it found.
func (r *rig) run(in reading.Input) (records []reading.Record, end mobile.Summary) {
	r.t.Helper()
	octets := input(in)
	res, _ := r.send(r.ticket(octets), octets)
	if res.Status != 202 {
		r.t.Fatalf("DISPATCH: %d %s", res.Status, res.Reason)
	}
	return parse(r.t, r.fetch(res.Header.Get(atp.AgentID)))
}

// fetch fetches until the stream is complete, from where it was cut.
func (r *rig) fetch(id string) (stream []byte) {
	r.t.Helper()
	for range 100 {
		res, b := r.ask(atp.Fetch, id, len(stream))
		if res.Status != 200 && res.Status != 206 {
			r.t.Fatalf("FETCH: %d %s", res.Status, res.Reason)
		}
		stream = append(stream, b...)
		if res.Length >= 0 && int64(len(b)) == res.Length {
			return stream
		}
	}
	r.t.Fatal("the results have no end")
	return nil
}

func parse(t *testing.T, stream []byte) (records []reading.Record, end mobile.Summary) {
	t.Helper()
	records, end, err := read(stream)
	if err != nil {
		t.Fatal(err)
	}
	return records, end
}

func read(stream []byte) (records []reading.Record, end mobile.Summary, err error) {
	z, err := zstd.NewReader(bytes.NewReader(stream), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<20))
	if err != nil {
		return nil, end, err
	}
	defer z.Close()
	for results := mobile.NewResultReader(z); ; {
		got, err := results.Next()
		switch {
		case err == io.EOF:
			return records, end, nil
		case err != nil:
			return records, end, err
		case got.End != nil:
			end = *got.End
		case got.Record != nil:
			r, err := reading.ParseRecord(got.Record)
			if err != nil {
				return records, end, err
			}
			records = append(records, r)
		}
	}
}

// get fetches a page of the site over HTTP.
func (r *rig) get(path string) (status int, header http.Header, body []byte) {
	r.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return r.net.Dial(ctx, network, r.web.Addr())
	}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(site + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, res.Header, body
}

func kinds(records []reading.Record) (s string) {
	for _, r := range records {
		s += string(r.Kind)
	}
	return s
}

// What a robot brings is what the site serves, and each exchange is in the log of the web.
func TestRobotReadsTheSite(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		r := setUp(t, agentserver.Behavior{Pace: time.Millisecond}, 30, simweb.FeatureTags, simweb.FeatureNofollow, simweb.FeatureFlapping)
		records, end := r.run(reading.Input{Types: []string{"text/html"}})
		if end.Outcome != mobile.Done || end.Records != int64(len(records)) {
			t.Errorf("the end is %+v, with %d records", end, len(records))
		}
		log := r.web.Log()
		bad := requestlog.Check(log, requestlog.CheckOptions{Delay: requestlog.Every(delay), Token: "curtsy"})
		if len(bad) > 0 {
			t.Errorf("%v", bad)
		}
		if got := methods(log); got != "DISPATCH 428, DISPATCH 202, FETCH 200" {
			t.Errorf("the log has %s", got)
		}
		expected := r.web.Expect("curtsy")
		for _, d := range records[:len(records)-1] {
			status, header, body := r.get(d.Path)
			switch {
			case status != 200 || r.web.Forbidden(site+d.Path, "curtsy") || strings.Contains(d.Path, "nofollow/hidden"):
				t.Errorf("%s is no document: %d", d.Path, status)
			case d.Kind == reading.Document && !bytes.Equal(d.Body, body):
				t.Errorf("%s: the robot sent %d octets, the site %d", d.Path, len(d.Body), len(body))
			case d.Head.Get("Content-Type") != header.Get("Content-Type") || d.Head.Get("X-Robots-Tag") != header.Get("X-Robots-Tag") || d.Head.Get("ETag") != header.Get("ETag"):
				t.Errorf("%s: the head of the robot is %q, the header of the site %v", d.Path, d.Head, header)
			}
			if noindex := expected[site+d.Path].Reason == simweb.ReasonNoindex; noindex != (d.Kind == reading.Skeleton) && !slices.Contains(expected[site+d.Path].Also, simweb.Stored) {
				t.Errorf("%s came as %c; noindex: %v", d.Path, d.Kind, noindex)
			}
			if d.Kind == reading.Skeleton {
				if bytes.Contains(d.Body, []byte("<p>")) || !bytes.Contains(d.Body, []byte("<a href")) {
					t.Errorf("%s: its skeleton is %s", d.Path, d.Body)
				}
			}
		}
		if n := strings.Count(kinds(records), string(reading.Skeleton)); n < 5 {
			t.Errorf("%d pages came as skeletons: %s", n, kinds(records))
		}
		last := records[len(records)-1]
		if last.Kind != reading.EndOfList || last.End.Sent != int64(len(records)-1) || last.End.LeftOut != 1 || last.End.Sent < 40 {
			t.Errorf("the last record is %+v", last) // left out is noindex.txt
		}
		if c := r.server().Counts(); c.Runs != 1 || c.Modules != 1 || c.Exchanges != 3 || c.Documents != len(records)-1 {
			t.Errorf("the server counts %+v", c)
		}
	})
}

func methods(log []requestlog.Request) string {
	var list []string
	for _, q := range log {
		if q.Agent {
			list = append(list, q.Method+" "+strconv.Itoa(q.Status))
		}
	}
	return strings.Join(list, ", ")
}

// Documents that the crawl has are named only. One that changed since is sent.
func TestOnlyChangesAreSent(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		r := setUp(t, agentserver.Behavior{}, 30, simweb.FeatureTags)
		first, _ := r.run(reading.Input{})
		var known []uint64
		for _, d := range first {
			if d.Kind == reading.Document {
				known = append(known, reading.KnownHash(d.Path, reading.Digest(d.Body)))
			}
		}
		r.web.Change(site + "/notes/p1.html")
		second, _ := r.run(reading.Input{Known: reading.MakeTable(known), MaxPages: 2})
		var sent, unchanged []string
		for _, d := range second {
			switch d.Kind {
			case reading.Document, reading.Skeleton:
				sent = append(sent, d.Path)
			case reading.Unchanged:
				unchanged = append(unchanged, d.Path)
			case reading.UnchangedList:
				unchanged = append(unchanged, d.Paths...)
			}
		}
		if len(sent) != 2 || !slices.Contains(sent, "/notes/p1.html") {
			t.Errorf("sent: %v; want the changed page and one of the skeletons, which are not known", sent)
		}
		if len(unchanged) != len(known)-1 {
			t.Errorf("%d are unchanged, want %d", len(unchanged), len(known)-1)
		}
		_, _, body := r.get("/notes/p1.html")
		for _, d := range second {
			if d.Path == "/notes/p1.html" && !bytes.Equal(d.Body, body) {
				t.Error("the changed page came with its old content")
			}
		}
	})
}

// Tickets are verified as by a real host.
func TestTickets(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		r := setUp(t, agentserver.Behavior{Keys: []string{mobile.KeyText(key.Public())}}, 3)
		in := input(reading.Input{})
		res, body := r.send(r.ticket(in), in)
		if res.Status != 202 {
			t.Fatalf("%d %s", res.Status, res.Reason)
		}
		r.fetch(res.Header.Get(atp.AgentID))
		if res := r.post(body); res.Status != 409 {
			t.Errorf("a ticket twice: %d %s", res.Status, res.Reason)
		}
		for name, c := range map[string]struct {
			status int
			change func(*mobile.Ticket)
		}{
			"another host":  {403, func(t *mobile.Ticket) { t.Host = "atp://h0001.sim.test:434" }},
			"another port":  {403, func(t *mobile.Ticket) { t.Host = "atp://h0000.sim.test:435" }},
			"another site":  {403, func(t *mobile.Ticket) { t.Site = "http://h0001.sim.test" }},
			"subtree":       {403, func(t *mobile.Ticket) { t.Subtree = "/a/../b/" }},
			"expired":       {403, func(t *mobile.Ticket) { t.NotBefore, t.NotAfter = 1, 100 }},
			"another input": {400, func(t *mobile.Ticket) { t.Input = mobile.Digest(nil) }},
			"no module":     {400, func(t *mobile.Ticket) { t.Module = mobile.Digest(nil) }},
		} {
			ticket := r.ticket(in)
			c.change(&ticket)
			if res, _ := r.send(ticket, in); res.Status != c.status {
				t.Errorf("%s: %d %s, want %d", name, res.Status, res.Reason, c.status)
			}
		}
		forged := bytes.Clone(body)
		forged[bytes.Index(forged, []byte(`"subtree":"/`))+len(`"subtree":"/`)] = 'x'
		if res := r.post(forged); res.Status != 400 && res.Status != 401 {
			t.Errorf("a forged ticket: %d %s", res.Status, res.Reason)
		}
		key = signer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))}
		defer func() { key = signer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))} }()
		if res, _ := r.send(r.ticket(in), in); res.Status != 401 {
			t.Errorf("a key that is not listed: %d %s", res.Status, res.Reason)
		}
	})
}

// A stream that was cut goes on at the octet where it was cut.
func TestCutResponses(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		whole, _ := setUp(t, agentserver.Behavior{Block: 4 << 10}, 60).run(reading.Input{})
		r := setUp(t, agentserver.Behavior{Block: 4 << 10, Cuts: 5, Pace: 10 * time.Millisecond, Rate: 20_000}, 60)
		got, end := r.run(reading.Input{})
		if len(got) != len(whole) || end.Outcome != mobile.Done {
			t.Errorf("%d records, want %d; %+v", len(got), len(whole), end)
		}
		log := r.web.Log()
		if n := strings.Count(methods(log), "FETCH"); n < 6 {
			t.Errorf("the log has %s, want six FETCHes", methods(log))
		}
		if bad := requestlog.Check(log, requestlog.CheckOptions{Delay: requestlog.Every(delay)}); len(bad) > 0 {
			t.Errorf("%v", bad)
		}
	})
}

// A server may be busy, have no free slot, restart, or forget what it knew.
func TestFaults(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		r := setUp(t, agentserver.Behavior{Busy: 1, RetryAfter: 7 * time.Second, Forgets: 1, Pace: time.Second}, 20)
		in := input(reading.Input{})
		res, _ := r.send(r.ticket(in), in)
		var refusal *atp.StatusError
		if !errors.As(res.Err(), &refusal) || refusal.Status != 503 || refusal.RetryAfter != 7*time.Second {
			t.Errorf("a busy server: %v", res.Err())
		}
		if log := r.web.Log(); log[len(log)-1].RetryAfter != 7*time.Second {
			t.Errorf("the log has %+v", log[len(log)-1])
		}
		res, _ = r.send(r.ticket(in), in)
		id := res.Header.Get(atp.AgentID)
		if res.Status != 202 || !atp.ValidAgentID(id) {
			t.Fatalf("%d %s, Agent-Id %q", res.Status, res.Reason, id)
		}
		if res, _ := r.send(r.ticket(in), in); res.Status != 503 {
			t.Errorf("a second robot: %d %s", res.Status, res.Reason)
		}
		if _, b := r.ask(atp.Message, id, 0); !bytes.Contains(b, []byte(`"outcome":"running"`)) {
			t.Errorf("MESSAGE: %s", b)
		}
		if _, b := r.ask(atp.Retract, id, 0); !bytes.Contains(b, []byte(`"outcome":"retracted"`)) {
			t.Errorf("RETRACT: %s", b)
		}
		if _, end := parse(t, r.fetch(id)); end.Outcome != mobile.Retracted {
			t.Errorf("it ended as %+v", end)
		}
		if res, _ := r.ask(atp.Fetch, id, 0); res.Status != 404 {
			t.Errorf("a server that forgot: %d %s", res.Status, res.Reason)
		}
		if res, _ = r.send(r.ticket(in), in); res.Status != 202 || r.server().Counts().Modules != 2 {
			t.Errorf("%d %s; a server that forgot has received the module %d times", res.Status, res.Reason, r.server().Counts().Modules)
		}
		id = res.Header.Get(atp.AgentID)
		time.AfterFunc(3*time.Second, func() { r.server().Restart(false) })
		if _, b := r.ask(atp.Fetch, id, 0); len(b) > 0 && len(r.fetch(id)) == len(b) {
			t.Error("a FETCH was complete although the server restarted")
		}
		records, end := parse(t, r.fetch(id))
		if end.Outcome != mobile.Interrupted || strings.Contains(kinds(records), "E") {
			t.Errorf("after a restart: %+v, records %s", end, kinds(records))
		}
	})
}

// A client that leaves is noticed, so that its next request does not seem to come too early.
func TestClientLeaves(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		r := setUp(t, agentserver.Behavior{Pace: time.Minute}, 5)
		in := input(reading.Input{})
		res, _ := r.send(r.ticket(in), in)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		res, err := r.client.Do(ctx, r.at, &atp.Request{Method: atp.Fetch, Header: textproto.MIMEHeader{atp.AgentID: {res.Header.Get(atp.AgentID)}}})
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		left := time.Now()
		res.Body.Close()
		time.Sleep(time.Second)
		log := r.web.Log()
		if last := log[len(log)-1]; !last.Aborted || last.End.Sub(left) > 10*time.Millisecond {
			t.Errorf("the client left at %v; the log has %+v", left, last)
		}
	})
}

// Each hostile server does what its name says.
func TestHostile(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		honest := map[string]string{}
		records, _ := setUp(t, agentserver.Behavior{}, 40, simweb.FeatureTags).run(reading.Input{})
		for _, d := range records {
			honest[d.Path] = string(d.Head) + string(d.Body)
		}
		for _, way := range agentserver.Ways() {
			for seed := range int64(4) {
				if seed > 0 && way != agentserver.Garbage && way != agentserver.WrongID {
					break
				}
				cheats(t, way, seed, honest)
			}
		}
	})
}

func cheats(t *testing.T, way agentserver.Hostile, seed int64, honest map[string]string) {
	r := setUp(t, agentserver.Behavior{Hostile: way, Seed: seed}, 40, simweb.FeatureTags)
	defer r.web.Close()
	octets := input(reading.Input{MaxPages: 1000})
	if way == agentserver.TooMany {
		octets = input(reading.Input{MaxPages: 3})
	}
	res, _ := r.send(r.ticket(octets), octets)
	id := res.Header.Get(atp.AgentID)
	switch way {
	case agentserver.WrongID:
		if atp.ValidAgentID(id) {
			if res, _ := r.ask(atp.Fetch, id, 0); res.Status != 404 {
				t.Errorf("%s: the id %q is right", way, id)
			}
		}
		return
	case agentserver.Endless, agentserver.Drip:
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		res, err := r.client.Do(ctx, r.at, &atp.Request{Method: atp.Fetch, Header: textproto.MIMEHeader{atp.AgentID: {id}}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, io.LimitReader(res.Body, 4<<20))
		res.Body.Close()
		if fast := n == 4<<20; fast != (way == agentserver.Endless) || !fast && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %d octets, %v", way, n, err)
		}
		return
	case agentserver.WrongRange:
		whole := r.fetch(id)
		if res, b := r.ask(atp.Fetch, id, 10); res.Status != 206 || !bytes.Equal(b, whole) {
			t.Errorf("%s: %d, %d octets of %d", way, res.Status, len(b), len(whole))
		}
		return
	}
	stream := r.fetch(id)
	records, _, err := read(stream)
	if (err != nil) != (way == agentserver.Garbage) {
		t.Errorf("%s, seed %d: %v", way, seed, err)
	}
	changed, added := 0, 0
	for _, d := range records {
		switch was, is := honest[d.Path]; {
		case !is:
			added++
		case d.Kind != reading.EndOfList && was != string(d.Head)+string(d.Body):
			changed++
		}
	}
	want := map[agentserver.Hostile]struct{ changed, added bool }{
		agentserver.Invented: {false, true}, agentserver.Elsewhere: {false, true}, agentserver.Altered: {true, false}, agentserver.AlteredTenth: {true, false},
		agentserver.Unmarked: {true, false}, agentserver.Bomb: {false, true},
	}[way]
	if want.changed != (changed > 0) || want.added != (added > 0) || way == agentserver.AlteredTenth && changed > len(honest)/3 {
		t.Errorf("%s: %d documents are changed and %d added", way, changed, added)
	}
	if way == agentserver.TooMany && len(records) < 40 {
		t.Errorf("%s: %d records", way, len(records))
	}
	if way == agentserver.Bomb && len(stream) > 1<<20 {
		t.Errorf("%s: %d octets", way, len(stream))
	}
}
