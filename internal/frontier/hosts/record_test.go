package hosts

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/pkg/canon"
)

// fullHost is a host of which everything is known that a record can have.
func fullHost() *Host {
	n := int64(0)
	at := func() time.Time { n++; return time.Unix(1_700_000_000+n, 0).UTC() }
	count := func() int64 { n++; return n }
	h := &Host{ID: 7, Name: "www.example.org", At: -1}
	h.Queued, h.Later, h.Stored, h.Failed, h.Fetched = count(), count(), count(), count(), count()
	h.Due, h.DueReason, h.Delay, h.Backoff = at(), DueRetryAfter, time.Duration(count()), int(count())
	h.Private, h.Response, h.Last = true, time.Duration(count()), crawl.VisitID{Epoch: 3, N: 4}
	h.Reported = Reported{Open: true, Requests: int(count()), Bytes: count(), Trouble: true}
	h.Closed, h.Refused, h.LeftOut = true, count(), count()
	h.Sitemaps, h.SitemapsDue, h.SitemapsForeign = int(count()), int(count()), int(count())
	h.ForeignRead, h.ForeignEntries, h.Timeline = at(), int(count()), int(count())
	h.Origins = make([]Origin, 1)
	o := &h.Origins[0]
	o.Origin = canon.Origin{Scheme: "https", Host: h.Name, Port: 8443}
	o.Ready, o.Again, o.AgainDue = count(), count(), count()
	o.History.Fetched, o.History.Fresh, o.History.Since, o.History.Failures = at(), time.Hour, at(), 2
	o.Copy, o.Digest, o.Status, o.Reason = crawl.RobotsParsed, []byte{1, 2}, 200, "why"
	o.CrawlDelay, o.HasDelay, o.ETag, o.LastMod = time.Second, true, `"e"`, "then"
	o.PendingAt, o.Redirects, o.Visit = at(), 2, crawl.VisitID{Epoch: 5, N: 6}
	o.SitemapsAsked, o.SitemapsOf, o.Cleans, o.Agents, o.Uses = at(), []byte{3}, true, true, true
	o.Data, o.DataDue, o.DataReason, o.RUPDue = crawl.ProbeRead, at(), "text", at()
	o.SecurityTxtDue, o.LLMSTxtDue = at(), at()
	o.MovedTo, o.Moved, o.Led, o.Twin = canon.Origin{Scheme: "http", Host: "b.example", Port: 80}, 4, 5, true
	return h
}

// TestRecordOfAHost: the record of an evicted host has the bytes that an earlier version wrote, and
// that of a host in memory the same keys and values.
func TestRecordOfAHost(t *testing.T) {
	t.Parallel()
	h := fullHost()
	if !h.plain() {
		t.Fatal("the host would not be evicted")
	}
	if got := hex.EncodeToString(appendEvicted(nil, h)); got != evictedBytes {
		t.Errorf("evicted:\n%s, want\n%s", got, evictedBytes)
	}
	o := &h.Origins[0]
	o.PendingOn, o.DataOn = "http://b.example/robots.txt", "http://b.example/data.txt"
	o.Rights = []RightsFile{{URL: "https://www.example.org:8443/tdm.json", State: crawl.RightsRead}}
	o.SecurityTxt, o.LLMSTxt, o.Mirror = &crawl.SecurityTxt{State: "read"}, &crawl.LLMSTxt{State: "read"}, &mirror.Record{State: mirror.Main}
	got, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	// The order of keys does not matter.
	var is, want map[string]any
	if err := errors.Join(json.Unmarshal(got, &is), json.Unmarshal([]byte(residentJSON), &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(is, want) {
		t.Errorf("in memory:\n%s, want\n%s", got, residentJSON)
	}
	read := &Host{At: -1}
	if err := json.Unmarshal([]byte(residentJSON), read); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(read); err != nil || !bytes.Equal(again, got) {
		t.Errorf("read:\n%s, want\n%s: %v", again, got, err)
	}
}

const (
	evictedBytes = "030f7777772e6578616d706c652e6f72670000020406080a80f0d5bcf3bfce972f0b72657472792d61667465720e100112030401141601181a1c1e2080a88bb7c5c0ce972f2426000000000101f68301282a2c0000000080989191f2c0ce972f8080c58bc6d10180c0e7caf9c0ce972f0004000202010290030377687980a8d6b9070103226522047468656e80e8bd8481c1ce972f040506809094be88c1ce972f01030101010280b8eaf78fc1ce972f047465787480e0c0b197c1ce972f808897eb9ec1ce972f80b0eda4a6c1ce972f0109622e6578616d706c6500a001080a01"
	residentJSON = `{"id":7,"name":"www.example.org",` +
		`"origins":[{"origin":{"Scheme":"https","Host":"www.example.org","Port":8443},"ready":20,"again":21,"again_due":22,"history":{"Fetched":"2023-11-14T22:13:43Z","Fresh":3600000000000,"Since":"2023-11-14T22:13:44Z","Answered":false,"Failures":2,"RetryAt":"0001-01-01T00:00:00Z"},"copy":1,"digest":"AQI=","status":200,"reason":"why"` +
		`,"crawl_delay":1000000000,"has_delay":true,"etag":"\"e\"","last_modified":"then","pending_on":"http://b.example/robots.txt","pending_at":"2023-11-14T22:13:45Z","hops":2,"visit":{"Epoch":5,"N":6},"sitemaps_asked":"2023-11-14T22:13:46Z","sitemaps_of":"Aw==","cleans":true,"agents":true,"uses":true,"data":1` +
		`,"data_due":"2023-11-14T22:13:47Z","data_reason":"text","data_on":"http://b.example/data.txt","rup_due":"2023-11-14T22:13:48Z","apart":[{"url":"https://www.example.org:8443/tdm.json","state":2}],"security_txt":{"state":"read"},"security_txt_due":"2023-11-14T22:13:49Z","llms_txt":{"state":"read","links":0,"in_scope":0},"llms_txt_due":"2023-11-14T22:13:50Z"` +
		`,"mirror":{"state":"main"},"moved_to":{"Scheme":"http","Host":"b.example","Port":80},"moved":4,"led":5,"twin":true}]` +
		`,"queued":1,"later":2,"stored":3,"failed":4,"fetched":5,"due":"2023-11-14T22:13:26Z","due_reason":"retry-after","delay":7,"backoff":8,"private":true,"response":9,"last":{"Epoch":3,"N":4},"told":{"open":true,"requests":10,"bytes":11,"trouble":true}` +
		`,"closed":true,"refused":12,"left_out":13,"sitemaps":14,"sitemaps_due":15,"sitemaps_foreign":16,"foreign_read":"2023-11-14T22:13:37Z","foreign_entries":18,"timeline":19}`
)
