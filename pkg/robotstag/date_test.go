package robotstag

import (
	"testing"
	"time"
)

// Every form of date that formats §4.1.4 lists.
func TestFormats_4_1_4_Dates(t *testing.T) {
	at := time.Date(2025, 12, 3, 13, 9, 53, 0, time.UTC)
	plus := func(h int) time.Time { return at.Add(time.Duration(h) * time.Hour) }
	day := time.Date(2025, 12, 3, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		in   string
		want time.Time
	}{
		// RFC 1123 and 822
		{"Wed, 03 Dec 2025 13:09:53 GMT", at},
		{"Wed, 3 Dec 2025 13:09:53 GMT", at},
		{"03 Dec 2025 13:09:53 GMT", at},
		{"Wed, 03 Dec 25 13:09:53 GMT", at},
		{"03 Dec 25 13:09 GMT", at.Add(-53 * time.Second)},
		{"wed, 03 dec 2025 13:09:53 gmt", at},
		{"Wed, 03 Dec 2025 13:09:53 UTC", at},
		{"Wed, 03 Dec 2025 13:09:53 UT", at},
		{"Wed, 03 Dec 2025 13:09:53 EST", plus(5)},
		{"Wed, 03 Dec 2025 13:09:53 EDT", plus(4)},
		{"Wed, 03 Dec 2025 13:09:53 CST", plus(6)},
		{"Wed, 03 Dec 2025 13:09:53 CDT", plus(5)},
		{"Wed, 03 Dec 2025 13:09:53 MST", plus(7)},
		{"Wed, 03 Dec 2025 13:09:53 MDT", plus(6)},
		{"Wed, 03 Dec 2025 13:09:53 PST", plus(8)},
		{"Wed, 03 Dec 2025 13:09:53 PDT", plus(7)},
		{"Wed, 03 Dec 2025 13:09:53 +0200", plus(-2)},
		{"Wed, 03 Dec 2025 13:09:53 -01:00", plus(1)},
		{"Wed, 03 Dec 2025 13:09:53", at},
		{"03 Dec 2025", day},
		// RFC 850 and the form of Google's first announcement
		{"Wednesday, 03-Dec-25 13:09:53 GMT", at},
		{"03-Dec-2025 13:09:53 GMT", at},
		{"25-Aug-2007 15:00:00 EST", time.Date(2007, 8, 25, 20, 0, 0, 0, time.UTC)},
		{"03-Dec-99 13:09:53 GMT", time.Date(1999, 12, 3, 13, 9, 53, 0, time.UTC)},
		// the T of Oct is not that of ISO 8601
		{"25-Oct-2007", time.Date(2007, 10, 25, 0, 0, 0, 0, time.UTC)},
		{"25-Oct-2007 15:00", time.Date(2007, 10, 25, 15, 0, 0, 0, time.UTC)},
		{"5-Oct-07 15:00:00 PDT", time.Date(2007, 10, 5, 22, 0, 0, 0, time.UTC)},
		// asctime
		{"Wed Dec  3 13:09:53 2025", at},
		{"Wed Dec 13 13:09:53 2025", at.AddDate(0, 0, 10)},
		// ISO 8601
		{"2025-12-03T13:09:53Z", at},
		{"2025-12-03t13:09:53z", at},
		{"2025-12-03T13:09:53+02:00", plus(-2)},
		{"2025-12-03T13:09:53+0200", plus(-2)},
		{"2025-12-03T13:09:53-05", plus(5)},
		{"2025-12-03T13:09:53.25Z", at.Add(250 * time.Millisecond)},
		{"2025-12-03T13:09:53", at},
		{"2025-12-03T13:09Z", at.Add(-53 * time.Second)},
		{"2025-12-03 13:09:53", at},
		{"2025-12-03 13:09:53 EST", plus(5)},
		{"2025-12-03 13:09:53 +0200", plus(-2)},
		{"2025-12-03 13:09:53+02:00", plus(-2)},
		{"2025-12-03", day},
		{"20251203T130953Z", at},
		{"20251203T1309-05", plus(5).Add(-53 * time.Second)},
		{"2025-12-03 13:09+02", plus(-2).Add(-53 * time.Second)},
		{"20251203", day},
	} {
		got, n := leadingDate(c.in)
		if n != len(c.in) || !got.Equal(c.want) {
			t.Errorf("leadingDate(%q) = %v, %d bytes; want %v, %d", c.in, got, n, c.want, len(c.in))
		}
	}
}

func TestFormats_4_1_4_UnreadableDates(t *testing.T) {
	for _, in := range []string{
		"", " ", "soon", "Wed", "Wed,", "GMT", "2025", "12/03/2025", "2025-13-03", "2025-02-30", "32 Dec 2025",
		"2025-12-03T25:00:00Z", "1764767393", "Dec 3", "0000-00-00", "-", "03 Foo 2025 13:09:53 GMT",
	} {
		if got, n := leadingDate(in); n != 0 {
			t.Errorf("leadingDate(%q) = %v, %d bytes; want none", in, got, n)
		}
	}
}
