package wellknown

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

func TestParseSecurityTxt(t *testing.T) {
	expires := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	long := "https://a.example/" + strings.Repeat("x", maxContact)
	for _, tt := range []struct {
		body     string
		contacts []string
		expires  time.Time
	}{
		{"", nil, time.Time{}},
		{"# ours\r\nContact: mailto:s@a.example\r\nExpires: 2030-01-02T03:04:05z\r\n", []string{"mailto:s@a.example"}, expires},
		{"\ufeffCONTACT:https://a.example/s\nPolicy: https://a.example/p\nexpires: 2030-01-02T04:04:05+01:00\nExpires: 2031-01-02T03:04:05Z", []string{"https://a.example/s"}, expires},
		{"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nContact: tel:+1-2\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n", []string{"tel:+1-2"}, time.Time{}},
		{"Contact: s@a.example\nContact: http://a.example/\nContact: mailto:\nContact: mailto:a b\nContact: tel:\x1b[1m\nContact: " + long, nil, time.Time{}},
		{"Contact: tel:1\nContact: tel:1\nContact: tel:2\nContact: tel:3\nContact: tel:4\nContact: tel:5", []string{"tel:1", "tel:2", "tel:3", "tel:4"}, time.Time{}},
		{"Expires: tomorrow\nExpires: 9999-12-31T23:59:59-01:00\nExpires: 1066-10-14T09:00:00Z", nil, time.Time{}},
	} {
		contacts, at := parseSecurityTxt([]byte(tt.body))
		if !slices.Equal(contacts, tt.contacts) || !at.Equal(tt.expires) {
			t.Errorf("%q: %q, %v", tt.body, contacts, at)
		}
	}
}

func FuzzParseSecurityTxt(f *testing.F) {
	f.Add([]byte("Contact: mailto:s@a.example\nExpires: 2030-01-02T03:04:05Z\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		contacts, expires := parseSecurityTxt(b)
		if len(contacts) > maxContacts || slices.ContainsFunc(contacts, func(c string) bool { return len(c) > maxContact || strings.ContainsAny(c, " \x1b\x00\n") }) {
			t.Errorf("%q", contacts)
		}
		if _, err := json.Marshal(expires); err != nil || !expires.IsZero() && expires.UnixMilli() <= 0 {
			t.Errorf("%v: %v", expires, err)
		}
	})
}

// A security.txt is requested if the robots.txt allows it, and one redirect within the origin is
// followed.
func TestSecurityTxt(t *testing.T) {
	const path = "/.well-known/security.txt"
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/security.txt" {
				text(200, "text/plain", "Contact: tel:1\n")(w, r)
			} else {
				http.Redirect(w, r, to, http.StatusFound)
			}
		}
	}
	unreadable := func(why string) crawl.SecurityTxt {
		return crawl.SecurityTxt{State: crawl.FileUnreadable, Reason: why}
	}
	found := crawl.SecurityTxt{State: crawl.FileFound, Contacts: []string{"tel:1"}}
	for name, tt := range map[string]struct {
		robots string
		answer http.HandlerFunc
		want   crawl.SecurityTxt
		asked  string // after robots.txt
	}{
		"found":      {"", text(200, "text/plain; charset=utf-8", "Contact: tel:1\n"), found, path},
		"moved":      {"", moved("/security.txt"), found, path + " /security.txt"},
		"moved away": {"", moved("http://other.test/security.txt"), unreadable("it redirects elsewhere"), path},
		"in a ring":  {"", moved(path), unreadable("it redirects elsewhere"), path},
		"disallowed": {"User-agent: *\nDisallow: /.well-known/\n", nil, unreadable("robots: line 2: Disallow: /.well-known/"), ""},
		"none":       {"", text(404, "text/html", "no"), crawl.SecurityTxt{State: crawl.FileNone}, path},
		"busy":       {"", text(503, "text/html", "no"), unreadable("HTTP 503"), path},
		"a page":     {"", text(200, "text/html", "Contact: tel:1\n"), unreadable("it is not text/plain"), path},
		"nobody":     {"", text(200, "text/plain", "# nobody\n"), unreadable("it has no usable Contact"), path},
		"too large":  {"", text(200, "text/plain", strings.Repeat("Contact: tel:1\n", 3000)), unreadable("it is larger than 32 KiB"), path},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				got := fetch(t, crawl.AuxRequest{Kind: crawl.AuxSecurityTxt, URL: "http://h.test" + path, Origin: origin}, tt.robots, tt.answer)
				if m := got.answer.SecurityTxt; m == nil || !reflect.DeepEqual(*m, tt.want) || !got.done {
					t.Errorf("%+v, done %v; want %+v", m, got.done, tt.want)
				}
				if got.paths != strings.TrimSpace("/robots.txt "+tt.asked) {
					t.Errorf("%s was requested", got.paths)
				}
			})
		})
	}
}
