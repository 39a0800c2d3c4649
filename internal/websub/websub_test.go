package websub

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

var testCallbacks = Callbacks{Base: "https://crawler.example/hooks/", Secret: []byte("0123456789abcdef")}

// WebSub §5.1: nobody can guess a callback, and each topic and number has its own.
func TestWebSub_5_1_Callbacks(t *testing.T) {
	const topic = canon.URL("https://a.example/feed?x=1")
	at := testCallbacks.URL(topic, 7)
	u, err := url.Parse(at)
	if err != nil || !strings.HasPrefix(at, "https://crawler.example/hooks/websub/7/") || u.EscapedPath() != u.Path {
		t.Fatal(at, err)
	}
	for _, path := range []string{u.Path, strings.TrimPrefix(u.Path, "/hooks")} {
		if got, n, ok := testCallbacks.Find(path); !ok || got != topic || n != 7 {
			t.Errorf("%s: %s %d %v", path, got, n, ok)
		}
	}
	other := Callbacks{Secret: []byte("another secret, as long")}
	long := canon.URL("https://a.example/" + strings.Repeat("x", MaxTopic-len("https://a.example/")))
	for _, c := range []struct {
		by   Callbacks
		path string
		ok   bool
	}{
		{other, u.Path, false}, {Callbacks{}, u.Path, false}, {testCallbacks, strings.Replace(u.Path, "/7/", "/8/", 1), false},
		{testCallbacks, u.Path + "/", false}, {testCallbacks, "/websub/", false}, {testCallbacks, "/", false}, {testCallbacks, u.Path[:len(u.Path)-4], false},
		{testCallbacks, strings.TrimPrefix(testCallbacks.URL(long, MaxN), "https://crawler.example"), true},
		{testCallbacks, strings.TrimPrefix(testCallbacks.URL(long+"x", 1), "https://crawler.example"), false},
		{testCallbacks, strings.TrimPrefix(testCallbacks.URL(long, MaxN+1), "https://crawler.example"), false},
		{testCallbacks, strings.TrimPrefix(testCallbacks.URL("https://A.example/", 1), "https://crawler.example"), false},
	} {
		if _, _, ok := c.by.Find(c.path); ok != c.ok {
			t.Errorf("%s: %v", c.path, ok)
		}
	}
	if testCallbacks.Key(topic, 7) == testCallbacks.Key(topic, 8) || testCallbacks.URL(topic, 7) == testCallbacks.URL(topic+"y", 7) {
		t.Error("one secret for two subscriptions")
	}
	f, err := url.ParseQuery(testCallbacks.Form(Subscribe, topic, 7))
	if err != nil || f.Get("hub.mode") != "subscribe" || f.Get("hub.topic") != string(topic) || f.Get("hub.callback") != at || f.Get("hub.secret") != testCallbacks.Key(topic, 7) ||
		f.Get("hub.lease_seconds") != "864000" || len(f.Get("hub.secret")) >= 200 {
		t.Errorf("%v, %v", f, err)
	}
	if f := testCallbacks.Form(Unsubscribe, topic, 7); strings.Contains(f, "secret") {
		t.Error(f)
	}
	for base, ok := range map[string]bool{"https://crawler.example": true, "http://10.0.0.1:8088/x/": true, "crawler.example": false, "https://u:p@crawler.example": false,
		"https://crawler.example/?q": false, "ftp://crawler.example": false, "https://" + strings.Repeat("x", 250): false} {
		if err := CheckBase(base); (err == nil) != ok {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// WebSub §8: a delivery that is not signed with the secret of the subscription is refused.
func TestWebSub_8_Signatures(t *testing.T) {
	body := []byte("<feed/>")
	sign := func(h func() hash.Hash, key string) string {
		m := hmac.New(h, []byte(key))
		m.Write(body)
		return hex.EncodeToString(m.Sum(nil))
	}
	for header, ok := range map[string]bool{
		"sha1=" + sign(sha1.New, "k"): true, "sha256=" + sign(sha256.New, "k"): true, "SHA384=" + sign(sha512.New384, "k"): true, " sha512=" + sign(sha512.New, "k"): true,
		"sha256=" + sign(sha256.New, "other"): false, "sha256=" + sign(sha1.New, "k"): false, "sha1=" + sign(sha256.New, "k"): false, "": false, "sha256=": false,
		"md5=" + sign(sha1.New, "k"): false, "sha256=xyz": false, sign(sha256.New, "k"): false,
	} {
		if err := Verify(header, "k", body); (err == nil) != ok {
			t.Errorf("%q: %v", header, err)
		}
	}
}

// WebSub §5.2, §5.3: the requests of a hub, and its refusals.
func TestWebSub_5_3_Intent(t *testing.T) {
	for query, want := range map[string]string{
		"hub.mode=subscribe&hub.topic=t&hub.challenge=c&hub.lease_seconds=864000":             "240h0m0s",
		"hub.mode=subscribe&hub.topic=t&hub.challenge=c&hub.lease_seconds=1":                  "1h0m0s",
		"hub.mode=subscribe&hub.topic=t&hub.challenge=c&hub.lease_seconds=999999999999":       "720h0m0s",
		"hub.mode=unsubscribe&hub.topic=t&hub.challenge=" + strings.Repeat("c", maxChallenge): "0s",
		"hub.mode=denied&hub.topic=t&hub.reason=no":                                           "0s",
		"hub.mode=subscribe&hub.topic=t":                                                      "",
		"hub.mode=subscribe&hub.topic=t&hub.challenge=" + strings.Repeat("c", maxChallenge+1): "",
		"hub.mode=publish&hub.topic=t&hub.challenge=c":                                        "",
		"hub.mode=subscribe&hub.topic=t&hub.challenge=c&hub.lease_seconds=-1":                 "",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if i, err := ParseIntent(q); err == nil {
			got = i.Lease.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	u, _ := url.Parse(testCallbacks.URL("https://a.example/feed", 1))
	f.Add(u.Path, "hub.mode=subscribe&hub.challenge=c&hub.lease_seconds=5", "sha256=00")
	f.Fuzz(func(t *testing.T, path, query, header string) {
		if topic, n, ok := testCallbacks.Find(path); ok && !strings.HasSuffix(path, strings.TrimPrefix(testCallbacks.URL(topic, n), "https://crawler.example/hooks")) {
			t.Errorf("%q: %s, %d", path, topic, n)
		}
		q, _ := url.ParseQuery(query)
		if i, err := ParseIntent(q); err == nil && (len(i.Challenge) > maxChallenge || i.Lease < 0 || i.Lease > MostLease || i.Lease > 0 && i.Lease < time.Hour) {
			t.Errorf("%q: %+v", query, i)
		}
		if Verify(header, "a secret nobody has", []byte(path)) == nil {
			t.Errorf("%q is a signature", header)
		}
	})
}
