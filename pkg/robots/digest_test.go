package robots

import "testing"

// Formats §2.4 step 3 (a): two robots.txt with equal lines are equal, whatever their line endings.
func TestDigest(t *testing.T) {
	want := Digest([]byte("User-agent: *\nDisallow: /a\n\nHost: m.example\n"))
	for _, same := range []string{
		"User-agent: *\r\nDisallow: /a\r\n\r\nHost: m.example\r\n",
		"User-agent: *\rDisallow: /a\r\rHost: m.example\r",
		"User-agent: *\nDisallow: /a\r\n\nHost: m.example",
		"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n\nHost: m.example\n",
	} {
		if Digest([]byte(same)) != want {
			t.Errorf("%q has another digest", same)
		}
	}
	for _, other := range []string{
		"", "User-agent: *\nDisallow: /a\nHost: m.example\n", "User-agent: *\nDisallow: /a\n\nHost: M.example\n",
		"User-agent: *\nDisallow: /a\n\nHost: m.example\n\n", "User-agent: *\n\nDisallow: /a\n\nHost: m.example\n",
	} {
		if Digest([]byte(other)) == want {
			t.Errorf("%q has the same digest", other)
		}
	}
}
