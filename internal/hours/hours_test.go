package hours_test

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/hours"
)

func mustParse(t testing.TB, text, zone string) *hours.Hours {
	t.Helper()
	h, err := hours.Parse(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// For each time: when requests may be sent next, and when no longer.
func TestChanges(t *testing.T) {
	for _, tt := range []struct{ text, zone, now, next, closes string }{
		// Over midnight. The 30th of November 2026 is a Monday.
		{"22:00-06:00", "", "2026-11-30T21:59:59Z", "2026-11-30T22:00:00Z", "2026-11-30T21:59:59Z"},
		{"22:00-06:00", "", "2026-11-30T22:00:00Z", "2026-11-30T22:00:00Z", "2026-12-01T06:00:00Z"},
		{"22:00-06:00", "", "2026-12-01T05:59:59.5Z", "2026-12-01T05:59:59.5Z", "2026-12-01T06:00:00Z"},
		{"22:00-06:00", "", "2026-12-01T06:00:00Z", "2026-12-01T22:00:00Z", "2026-12-01T06:00:00Z"},
		// From Sunday to Monday, which is the end of the week of the package.
		{"22:00-06:00", "", "2026-11-29T23:00:00Z", "2026-11-29T23:00:00Z", "2026-11-30T06:00:00Z"},
		{"Sat-Mon", "", "2026-11-29T23:00:00Z", "2026-11-29T23:00:00Z", "2026-12-01T00:00:00Z"},
		// Days are those on which a window begins.
		{"Fri 22:00-06:00", "", "2026-12-05T05:00:00Z", "2026-12-05T05:00:00Z", "2026-12-05T06:00:00Z"},
		{"Fri 22:00-06:00", "", "2026-12-04T05:00:00Z", "2026-12-04T22:00:00Z", "2026-12-04T05:00:00Z"},
		{"mon-fri 22:00-6:00, sat-sun", "", "2026-12-04T23:00:00Z", "2026-12-04T23:00:00Z", "2026-12-07T00:00:00Z"},
		{"Sun-Mon 12:00-13:00", "", "2026-12-01T12:30:00Z", "2026-12-06T12:00:00Z", "2026-12-01T12:30:00Z"},
		// Windows that touch are one.
		{"10:00-12:00,12:00-13:00", "", "2026-12-01T10:30:00Z", "2026-12-01T10:30:00Z", "2026-12-01T13:00:00Z"},
		{"00:00-24:00", "", "2026-12-01T10:30:00Z", "2026-12-01T10:30:00Z", ""},
		{"12:00-24:00,00:00-12:00", "", "2026-12-01T10:30:00Z", "2026-12-01T10:30:00Z", ""},
		// Another zone.
		{"22:00-06:00", "Europe/Berlin", "2026-12-01T20:59:00Z", "2026-12-01T21:00:00Z", "2026-12-01T20:59:00Z"},
		{"22:00-06:00", "Asia/Kathmandu", "2026-12-01T16:00:00Z", "2026-12-01T16:15:00Z", "2026-12-01T16:00:00Z"},
		// On 2026-03-29 the clocks of Berlin go from 02:00 to 03:00: the night is an hour shorter,
		// an hour is missing, and a window that begins in it begins at its end.
		{"22:00-06:00", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T04:00:00Z"},
		{"02:00-03:00", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z", "2026-03-28T12:00:00Z"},
		{"02:30-04:00", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-28T12:00:00Z"},
		{"01:00-02:30", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		// On 2026-10-25 they go from 03:00 to 02:00: both passages count.
		{"22:00-06:00", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-24T21:00:00Z", "2026-10-25T05:00:00Z"},
		{"02:00-02:30", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T00:30:00Z"},
		{"02:00-03:00", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"},
		{"", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", ""},
	} {
		h, now := mustParse(t, tt.text, tt.zone), at(t, tt.now)
		if got := h.Next(now); !got.Equal(at(t, tt.next)) {
			t.Errorf("%v: after %s the next is %v, want %s", h, tt.now, got.UTC(), tt.next)
		}
		switch got := h.Closes(now); {
		case tt.closes == "" && !got.IsZero(), tt.closes != "" && !got.Equal(at(t, tt.closes)):
			t.Errorf("%v: after %s it closes %v, want %q", h, tt.now, got.UTC(), tt.closes)
		}
		if h.Open(now) != (tt.now == tt.next) {
			t.Errorf("%v: open is %v at %s", h, h.Open(now), tt.now)
		}
	}
}

func TestBothHours(t *testing.T) {
	crawl, site := mustParse(t, "22:00-06:00", ""), mustParse(t, "05:00-23:00", "")
	both, now := crawl.And(site), at(t, "2026-12-01T12:00:00Z")
	if got := both.Next(now); !got.Equal(at(t, "2026-12-01T22:00:00Z")) {
		t.Error(got)
	}
	if got := both.Closes(at(t, "2026-12-01T22:30:00Z")); !got.Equal(at(t, "2026-12-01T23:00:00Z")) {
		t.Error(got)
	}
	if got := both.String(); got != "22:00-06:00 and 05:00-23:00 (UTC)" {
		t.Error(got)
	}
	var always *hours.Hours
	if always.And(site) != site || site.And(always) != site || always.And(always) != nil {
		t.Error("hours together with any time are not the hours")
	}
	never := crawl.And(mustParse(t, "10:00-11:00", ""))
	if got := never.Next(now); !got.IsZero() || never.Open(now) || !never.Closes(now).Equal(now) {
		t.Errorf("hours that never overlap open at %v", got)
	}
}

func TestWrongHours(t *testing.T) {
	for _, tt := range []struct{ text, zone, want string }{
		{"22-06", "", `"22-06" are not hours; use for example 22:00-06:00`},
		{"22:00-06:00,", "", `"" are not hours`},
		{"22:00", "", "are not hours"},
		{"24:00-06:00", "", "are not hours"},
		{"22:60-06:00", "", "are not hours"},
		{"22:00-24:01", "", "are not hours"},
		{"+2:00-04:00", "", "are not hours"},
		{"22:00-06:0", "", "are not hours"},
		{"Mond 22:00-06:00", "", "are not hours"},
		{"Mon - Fri 22:00-06:00", "", "are not hours"},
		{"06:00-06:00", "", "a whole day is 00:00-24:00"},
		{"22:00-06:00", "Berlin", `"Berlin" is not the name of a time zone; use for example UTC or Europe/Berlin`},
		{"22:00-06:00", "Local", "is not the name of a time zone"},
		{"", "../etc/passwd", "is not the name of a time zone"},
		{"", strings.Repeat("x", 10_000), "is not the name of a time zone"},
		{strings.Repeat(" ", hours.MaxText) + "22:00-06:00", "", ""},
		{"22:00-06:00" + strings.Repeat(" ", hours.MaxText) + ",Mon", "", "the limit is 1024"},
		{strings.Repeat("10:00-11:00,", hours.MaxWindows-1) + "22:00-06:00", "", ""},
		{strings.Repeat("10:00-11:00,", hours.MaxWindows) + "22:00-06:00", "", "has 33 windows, and the limit is 32"},
	} {
		_, err := hours.Parse(tt.text, tt.zone)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), strings.Replace(tt.want, "has", "have", 1)) {
			t.Errorf("%.40q in %.20q: %v, want %q", tt.text, tt.zone, err, tt.want)
		}
	}
}

// The answers of Next and Closes agree with Open, minute by minute, over a year with both changes
// of the clock.
func TestChangesAgreeWithOpen(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/New_York"} {
		for _, text := range []string{"22:00-06:00", "02:15-02:45", "Sat-Sun, Mon-Fri 01:30-03:10", "Sun 01:00-00:30"} {
			h, now := mustParse(t, text, zone), at(t, "2026-01-01T00:00:00Z")
			for end := now.AddDate(1, 0, 0); now.Before(end); {
				next := h.Next(now)
				closes := h.Closes(next)
				if next.IsZero() || !closes.After(next) {
					t.Fatalf("%v at %v: opens %v, closes %v", h, now, next, closes)
				}
				for m := now; m.Before(closes); m = m.Add(5 * time.Minute) {
					if h.Open(m) != !m.Before(next) {
						t.Fatalf("%v at %v: open is %v, but it opens %v and closes %v", h, m, h.Open(m), next, closes)
					}
				}
				if h.Open(closes) || !h.Open(closes.Add(-time.Second)) {
					t.Fatalf("%v does not close at %v", h, closes)
				}
				now = closes
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("22:00-06:00", "Europe/Berlin", int64(1_790_000_000))
	f.Add("Mon-Fri 22:00-06:00, Sat-Sun", "UTC", int64(0))
	f.Add("Sun 23:00-24:00,00:00-00:01", "Africa/Casablanca", int64(1<<40))
	f.Fuzz(func(t *testing.T, text, zone string, unix int64) {
		h, err := hours.Parse(text, zone)
		if err != nil {
			return
		}
		now := time.Unix(unix%(1<<36), 0)
		next, closes := h.Next(now), h.Closes(now)
		if h != nil && next.IsZero() || next.Before(now) || !h.Open(next) {
			t.Errorf("%v at %v opens %v", h, now, next)
		}
		if !closes.IsZero() && (closes.Before(now) || h.Open(closes)) {
			t.Errorf("%v at %v closes %v", h, now, closes)
		}
	})
}
