package archive

import "testing"

// Nothing of an archive moves a cursor, and a quote at its end is no half of an escape.
func TestShown(t *testing.T) {
	for s, want := range map[string]string{
		`its Content-Length is "-1"`: `its Content-Length is \"-1\"`, "\x1b]0;owned\x07": `\x1b]0;owned\a`, "a\u009bb\u202ec": `a\u009bb\u202ec`, "": "",
	} {
		if got := shown(s); got != want {
			t.Errorf("shown(%q) = %q, want %q", s, got, want)
		}
	}
}
