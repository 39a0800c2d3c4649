package wellknown

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
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
