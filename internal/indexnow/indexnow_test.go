package indexnow

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const key = "0123-abcDEF"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string // a query, or JSON
		want string // origin, key URL, URLs
		err  string
	}{
		{"url=https://a.example/x&key=" + key, "https://a.example https://a.example/" + key + ".txt https://a.example/x", ""},
		{"url=http://A.example:80/x%20y%23z&key=" + key + "&keyLocation=http://a.example/k.txt", "http://a.example http://a.example/k.txt http://a.example/x%20y", ""},
		{"url=https://a.example/in/x&key=" + key + "&keyLocation=https://a.example/in/k.txt", "https://a.example https://a.example/in/k.txt https://a.example/in/x", ""},
		{"url=https://a.example/x&key=" + key + "&keyLocation=https://a.example/in/k.txt", "", "not in the folder"},
		{"url=https://a.example/x&key=" + key + "&keyLocation=https://b.example/k.txt", "", "not on the host"},
		{"url=https://a.example/x&key=" + key + "&keyLocation=/k.txt", "", "is not the URL"},
		{"url=https://a.example/x&key=" + key + "&keyLocation=https://a.example/logout?x", "", "a text file"},
		{"url=https://a.example/x", "", "give key exactly once"},
		{"key=" + key, "", "give url exactly once"},
		{"url=https://a.example/x&url=https://a.example/y&key=" + key, "", "give url exactly once"},
		{"url=https://a.example/x&key=1234567", "", "use 8 to 128"},
		{"url=https://a.example/x&key=" + strings.Repeat("k", 129), "", "use 8 to 128"},
		{"url=https://a.example/x&key=1234567_", "", "use 8 to 128"},
		{"url=ftp://a.example/x&key=" + key, "", "is not the URL"},
		{"url=https://a.example/" + strings.Repeat("x", MaxURL) + "&key=" + key, "", "the limit is 2048"},
		{`{"host":"a.example","key":"` + key + `","urlList":["https://a.example/x","https://a.example/y","https://a.example/x"]}`,
			"https://a.example https://a.example/" + key + ".txt https://a.example/x https://a.example/y", ""},
		{`{"host":"A.example","key":"` + key + `","keyLocation":"https://a.example/k.txt","urlList":["https://a.example/x"]}`, "https://a.example https://a.example/k.txt https://a.example/x", ""},
		{`{"host":"b.example","key":"` + key + `","urlList":["https://a.example/x"]}`, "", "not on the host"},
		{`{"host":"a.example","key":"` + key + `","urlList":["https://a.example/x","http://a.example/y"]}`, "", "not on the host"},
		{`{"host":"a.example","key":"` + key + `","urlList":["https://a.example/x","https://b.example/y"]}`, "", "not on the host"},
		{`{"host":"a.example","key":"` + key + `","urlList":[]}`, "", "empty"},
		{`{"host":"a.example/x@","key":"` + key + `","urlList":["https://a.example/x"]}`, "", "not on the host"},
		{`{"host":1}`, "", "not the expected JSON"},
		{`[`, "", "not the expected JSON"},
	} {
		var s Submission
		var err error
		if c.in[0] == '{' || c.in[0] == '[' {
			s, err = ParseJSON([]byte(c.in))
		} else {
			q, bad := url.ParseQuery(c.in)
			if bad != nil {
				t.Fatal(bad)
			}
			s, err = ParseQuery(q)
		}
		got := ""
		if err == nil {
			got = fmt.Sprint(s.Origin, " ", s.KeyURL)
			for _, u := range s.URLs {
				got += " " + string(u)
			}
		}
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.120s: %s, %v", c.in, got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, n := range []int{MaxURLs, MaxURLs + 1} {
		var b strings.Builder
		fmt.Fprintf(&b, `{"host":"a.example","key":"%s","urlList":["https://a.example/0"`, key)
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, `,"https://a.example/%d"`, i)
		}
		b.WriteString("]}")
		if s, err := ParseJSON([]byte(b.String())); (err == nil) != (n <= MaxURLs) || err == nil && len(s.URLs) != n {
			t.Errorf("%d URLs: %d, %v", n, len(s.URLs), err)
		}
	}
	if _, err := ParseJSON([]byte(`{"x":"` + strings.Repeat("x", MaxBody) + `"}`)); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Error(err)
	}
}

func TestKeyIn(t *testing.T) {
	for body, want := range map[string]string{
		key: key, "\ufeff" + key + "\r\n": key, " " + key: key, "": "", "short": "", key + "\n" + key: "", "<html>": "",
		key + strings.Repeat(" ", MaxKeyFile-len(key)): key, key + strings.Repeat(" ", MaxKeyFile-len(key)+1): "",
	} {
		got, ok := KeyIn([]byte(body))
		if ok != (want != "") || ok && got != want {
			t.Errorf("%.40q: %q, %v", body, got, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"host":"a.example","key":"`+key+`","keyLocation":"https://a.example/in/k.txt","urlList":["https://a.example/in/x"]}`, "url=https://a.example/x&key="+key)
	f.Fuzz(func(t *testing.T, body, query string) {
		var all []Submission
		if s, err := ParseJSON([]byte(body)); err == nil {
			all = append(all, s)
		}
		if q, err := url.ParseQuery(query); err == nil {
			if s, err := ParseQuery(q); err == nil {
				all = append(all, s)
			} else if errors.Is(err, ErrNotItsOwn) && q.Get("keyLocation") == "" {
				t.Errorf("%q: %v", query, err)
			}
		}
		for _, s := range all {
			if !IsKey(s.Key) || s.KeyURL.Origin() != s.Origin || len(s.URLs) == 0 {
				t.Fatalf("%+v", s)
			}
			for _, u := range s.URLs {
				if u.Origin() != s.Origin || !strings.HasPrefix(string(u), s.folder()) {
					t.Fatalf("%s is not in %s", u, s.folder())
				}
			}
		}
	})
}
