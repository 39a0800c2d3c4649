package crawl

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

var (
	testOrigin = canon.Origin{Scheme: "https", Host: "a.example", Port: 8443}
	testRobots = Robots{testOrigin, RobotsParsed, 200, []byte("User-agent: *"), bytes.Repeat([]byte{7}, 32), 1, 2, 3, true, "e", "l", "r", "http://b.example/", 4, true, 5, true,
		[]RightsFile{{"https://a.example:8443/.well-known/tdmrep.json", RightsLost, []byte("[]"), bytes.Repeat([]byte{8}, 32), 6, "r"}}}
	testProbe  = Probe{testOrigin, ProbePending, 301, 2, "r", "http://b.example/d", 3}
	testAux    = AuxRequest{AuxRobots, "http://b.example/r", testOrigin, 2, 3, "e", "l", "http://b.example/t", "f"}
	testAnswer = Answer{testAux, testRobots, testProbe, Claim{ClaimTarget, testOrigin, []byte{1}, "r", testOrigin, 1, 2}, Sample{200, 1, 2, "r", "l", 3, "text/html", time.UnixMilli(4), true},
		Sitemap{200, true, true, "urlset", 1, 2, "e", "l", "r", true, 3}, RUP{200, "r", true, 1, []byte("b"), 2, "k", 3, 4, 5},
		&SecurityTxt{FileFound, "r", []string{"tel:1"}, time.UnixMilli(6)},
		&LLMSTxt{FileFound, "r", "t", 1, 2, 3},
		&KeyFile{"k", "r", true},
		&Feed{200, true, true, true, "r", 1, 2, 3, "e", "l", 4, 5, "http://b.example/hub", "http://b.example/f"},
		&Dispatch{DispatchDone, 200, "r", 1, "id", 2, 3, time.UnixMilli(4), 5, 6, 7, 8, 9, 10, 11, VisitID{12, 13}, 14, []DispatchSample{{"http://a.example/", 1, 2, 3, "text/html"}}},
	}
	testLinks   = Links{"http://b.example/", 1, 2, true, []canon.URL{"http://a.example/", "http://a.example/2"}, []int64{1, 1 << 40}, SourceRUP, true}
	testReport  = Report{testOrigin, "a", true, 1 << 40, 2, 3, time.UnixMilli(4), []Links{testLinks}, 5, true, "http://a.example/c?t"}
	testVisitID = VisitID{1 << 40, 77}
	testResult  = Result{"http://a.example/x", Failed, ReasonHTTP5xx, 503, 4, "Disallow: /", "http://a.example/y", 99, time.Second, true, time.UnixMilli(1_700_000_000_001), 1 << 63, "e", "l", true, true, 1 << 62, 1 << 61, RenderingNeeded}
)

// Every field set, so that a field forgotten in one direction shows. filled checks that the test
// itself forgets none.
func filled(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is empty in the test", path)
		} else if v.Type().Elem().Kind() != reflect.Uint8 {
			filled(t, v.Index(0), path+"[0]")
		}
	case reflect.Pointer:
		filled(t, v.Elem(), path)
	default:
		if v.IsZero() {
			t.Errorf("%s is zero in the test", path)
		}
	}
}

func roundTrip[T any](t *testing.T, want T, got T, err error) {
	t.Helper()
	filled(t, reflect.ValueOf(want), reflect.TypeFor[T]().Name())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded\n%+v (%v), want\n%+v", got, err, want)
	}
}

func TestWireRoundTrip(t *testing.T) {
	take := VisitRequest{"f1", 16, true, testOrigin, "w.example", 64}
	gotVisitRequest, err := DecodeVisitRequest(AppendVisitRequest(nil, take))
	roundTrip(t, take, gotVisitRequest, err)

	grants := Grants{Wait: time.Second, Visits: []Visit{{
		ID: testVisitID, Shard: 3, Host: "a.example", URLs: []VisitURL{{"http://a.example/", "http://b.example/", 1, 2, 3, "e", "l", true, "cut"}},
		Robots: []Robots{testRobots}, Aux: []AuxRequest{testAux}, Delay: 5, Lease: 7, Hurried: true,
		DelaySource: "s", NewAddress: true,
	}}, Now: time.UnixMilli(9)}
	gotGrants, err := DecodeGrants(AppendGrants(nil, grants))
	roundTrip(t, grants, gotGrants, err)

	renew := Renew{"f1", []VisitID{testVisitID}}
	gotRenew, err := DecodeRenew(AppendRenew(nil, renew))
	roundTrip(t, renew, gotRenew, err)

	renewed := Renewed{[]VisitID{testVisitID}, time.Second}
	gotRenewed, err := DecodeRenewed(AppendRenewed(nil, renewed))
	roundTrip(t, renewed, gotRenewed, err)

	gotAux, err := DecodeAuxRequest(AppendAuxRequest(nil, testAux))
	roundTrip(t, testAux, gotAux, err)

	ev := Event{
		Visit: testVisitID, Fetcher: "f1", Links: []Links{testLinks},
		Robots: []Robots{testRobots}, Aux: []AuxRequest{testAux}, Answers: []Answer{testAnswer}, Probes: []Probe{testProbe}, StoreFailed: []string{"u"}, StoreLost: "5f",
		Missing: []Unheld{{"http://a.example/1", testVisitID, "w", 1}}, Removed: []Unheld{{"http://a.example/2", testVisitID, "w", 1}}, Skipped: []Unheld{{"http://a.example/3", testVisitID, "w", 1}}, Unreadable: []Unheld{{URL: "http://a.example/killer", Visit: VisitID{Epoch: 3, N: 9}, Why: "w", Rules: 1}}, Reports: []Report{testReport}, Retry: []string{"a.example", "http://b.example/"}, Refetch: []string{"http://b.example/"},
		Audits:  []Audit{{ID: "Q1", At: time.UnixMilli(1753000000123), Who: "ada@laptop", From: "10.0.0.2", Action: "delay-host", What: "a.example", Detail: "5s", Error: "no"}},
		Outcome: &Outcome{"a.example", []Result{testResult}, true, 1, 2, 3, 4, 5, 6, []AuxRequest{testAux}, true, 7, 8, "192.0.2.7"},
		Traces:  []Trace{{"a.example", 1, 2, []Sent{{3, "r", RequestDownload, 4, 5, 6, 7, 8, "s", true, true}}, true, 9, "s"}}, Forward: true,
		WebSub:   []WebSub{{"http://a.example/f", 1, "deliver", 2, "r", time.UnixMilli(3), []canon.URL{"http://a.example/1"}, []int64{4}}},
		Reported: []IndexNow{{testOrigin, "k", "http://a.example/k.txt", []canon.URL{"http://a.example/1"}, time.UnixMilli(5)}},
	}
	gotEvent, err := DecodeEvent(AppendEvent(nil, &ev))
	roundTrip(t, ev, gotEvent, err)

	pages := []Page{{
		"http://a.example/", testVisitID, 200, time.UnixMilli(1), "text/html", "utf-8", NoSnippet, time.UnixMilli(2), 3, [32]byte{1}, 4,
		"http://b.example/", "e", "l", EncodingS2, []byte("body"), ReasonHTTP4xx, true, 6, KindData, testOrigin, 5, "http://c.example/", "http://d.example/", true, true, MetaTags{NoIndex, time.UnixMilli(3), 8}, "http://a.example/d/data.txt", 7,
		usage.Statements{{Position: usage.Position{From: "robots.txt", Line: 3}, Text: "t", Preferences: usage.PreferencesOf(0x99), Inferred: true}}, 5, "accept", 9, 10,
		&Capture{1, []byte("GET"), []byte("HTTP"), EncodingS2, true, 1<<32 - 1, true, CutByTime, "::1", 2, []byte("links"), "text/html"},
		&Head{"t", "de"}, []byte("links"), &Ruled{1, 2, "t", "d", Fields{{"a", FieldNumber, true, []string{"1", ""}}}}, RenderingDone,
	}}
	gotPages, err := DecodePages(AppendPages(nil, pages))
	roundTrip(t, pages[0], gotPages[0], err)
}

func TestWireRefusesNewerVersions(t *testing.T) {
	e := writer(nil)
	e.putUint(1, Version+1)
	if _, err := DecodeEvent(e.out); !errors.Is(err, ErrVersion) {
		t.Errorf("event of a newer version: %v", err)
	}
	if _, err := DecodePages(e.out); !errors.Is(err, ErrVersion) {
		t.Errorf("pages of a newer version: %v", err)
	}
	// What the first version of a reader would lose, it has to refuse; all else it goes on reading.
	for forward, want := range map[bool]uint64{false: 1, true: 2} {
		r := reader(AppendEvent(nil, &Event{Fetcher: "f", Forward: forward}))
		var version uint64
		r.uint(1, &version)
		if version != want {
			t.Errorf("an event with Forward %v is of version %d, want %d", forward, version, want)
		}
	}
	for capture, want := range map[*Capture]uint64{nil: 1, {Number: 1}: 4} {
		r := reader(AppendPages(nil, []Page{{URL: "u", Capture: capture}}))
		var version uint64
		r.uint(1, &version)
		if version != want {
			t.Errorf("pages with a capture %v are of version %d, want %d", capture, version, want)
		}
	}
	e = writer(AppendEvent(nil, &Event{Fetcher: "f"}))
	e.putText(99, "a field of the future")
	if ev, err := DecodeEvent(e.out); err != nil || ev.Fetcher != "f" {
		t.Errorf("an unknown field: %+v, %v", ev, err)
	}
}

// Numbers that are too large, lengths past the end and fields that cannot be make a message
// malformed. A field of another wire type than it should have counts as zero, and an unknown one is
// skipped.
func TestWireLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		b    string
		ok   bool
		want VisitRequest
	}{
		"the largest number":         {"\x10\xff\xff\xff\xff\x07", true, VisitRequest{Max: math.MaxInt32}},
		"one more":                   {"\x10\x80\x80\x80\x80\x08", false, VisitRequest{}},
		"a padded number":            {"\x10\x81\x80\x00", true, VisitRequest{Max: 1}},
		"more than 64 bits":          {"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", false, VisitRequest{}},
		"cut short":                  {"\x10\x80", false, VisitRequest{}},
		"text to the end":            {"\x0a\x01f", true, VisitRequest{Fetcher: "f"}},
		"text past the end":          {"\x0a\x02f", false, VisitRequest{}},
		"a number instead of text":   {"\x0a\x01f\x08\x05\x10\x02", true, VisitRequest{Max: 2}},
		"text instead of a number":   {"\x10\x02\x12\x01x", true, VisitRequest{}},
		"unknown fields":             {"\x50\x05\x10\x02\x5a\x01x\x61" + "12345678" + "\x6d" + "1234" + "\x0a\x01f", true, VisitRequest{Fetcher: "f", Max: 2}},
		"fixed past the end":         {"\x10\x02\x61" + "1234567", false, VisitRequest{Max: 2}},
		"a group":                    {"\x10\x02\x5b", false, VisitRequest{Max: 2}},
		"field 0":                    {"\x10\x02\x00\x01", false, VisitRequest{Max: 2}},
		"the largest field":          {"\x80\x80\x80\x80\x08\x01\x10\x02", true, VisitRequest{Max: 2}},
		"one more than that":         {"\x88\x80\x80\x80\x08\x01\x10\x02", false, VisitRequest{}},
		"in another order":           {"\x18\x01\x10\x02\x0a\x01f", true, VisitRequest{Fetcher: "f", Max: 2, Downloads: true}},
		"twice: the last one counts": {"\x10\x02\x18\x01\x10\x03", true, VisitRequest{Max: 3, Downloads: true}},
	} {
		got, err := DecodeVisitRequest([]byte(tt.b))
		if got != tt.want || (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrWire) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
	w := writer(nil)
	w.putUint(3, 1<<63)
	if _, err := DecodeGrants(w.out); !errors.Is(err, ErrWire) {
		t.Errorf("a duration of more than 63 bits: %v", err)
	}
	crc := uint64(math.MaxUint32 + 1)
	w = writer(nil)
	for range w.one(2) {
		for range w.one(38) {
			w.uint(10, &crc)
		}
	}
	if _, err := DecodePages(w.out); !errors.Is(err, ErrWire) {
		t.Errorf("a CRC of more than 32 bits: %v", err)
	}
}

// What is repeated gets its room at once, and is all there, wherever other fields stand between.
func TestRoomForRepeated(t *testing.T) {
	var all []Page
	for i := range 100 {
		all = append(all, Page{URL: canon.URL(fmt.Sprint("http://h.example/", i)), Body: []byte("b")})
	}
	got, err := DecodePages(AppendPages(nil, all))
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Fatalf("%d pages, %v", len(got), err)
	}
	if cap(got) > len(got)+len(got)/8 { // the allocator has its sizes
		t.Errorf("room for %d pages was made for %d", cap(got), len(got))
	}
	w := writer(nil)
	for i := range 10 {
		for range w.one(2) {
			w.putText(4, fmt.Sprint("u", i)) // unknown or not, it is not counted along
		}
		w.putUint(99, 1)
	}
	if got, err := DecodePages(w.out); err != nil || len(got) != 10 {
		t.Errorf("%d pages of 10 that stand apart, %v", len(got), err)
	}
	cut := AppendPages(nil, all)
	if _, err := DecodePages(cut[:len(cut)-1]); !errors.Is(err, ErrWire) {
		t.Errorf("pages cut short: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(AppendEvent(nil, &Event{Visit: testVisitID, Robots: []Robots{testRobots}, Outcome: &Outcome{Host: "h", Results: []Result{testResult}}}))
	f.Add(AppendGrants(nil, Grants{Visits: []Visit{{ID: testVisitID, URLs: []VisitURL{{URL: "u"}}}}}))
	f.Add(AppendPages(nil, []Page{{URL: "u", Body: []byte("b")}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		DecodeVisitRequest(b)
		DecodeGrants(b)
		DecodeRenew(b)
		DecodeRenewed(b)
		DecodeAuxRequest(b)
		DecodePages(b)
		if ev, err := DecodeEvent(b); err == nil {
			if _, err := DecodeEvent(AppendEvent(nil, &ev)); err != nil {
				t.Errorf("what was decoded does not decode again: %v", err)
			}
		}
	})
}

func TestShardOfSpreads(t *testing.T) {
	for _, n := range []int{1, 4, 16, 256} {
		count := make([]int, n)
		for i := range 100 * n {
			count[ShardOf(canon.Host("h"+string(rune('a'+i%26))+time.Duration(i).String()+".example"), n)]++
		}
		for s, c := range count {
			if c < 40 || c > 200 {
				t.Errorf("%d shards: shard %d got %d of 100 expected hosts", n, s, c)
			}
		}
	}
}
