package settings

import (
	"strings"
	"testing"
)

func TestCheckMailbox(t *testing.T) {
	longest := strings.Repeat("a", 31) + "@" + strings.Repeat("b", 176) + ".org"
	for _, ok := range []string{"curtsy@crawler.example", longest} {
		if err := CheckMailbox(ok); err != nil {
			t.Error(err)
		}
	}
	for _, no := range []string{
		"", "curtsy", "curtsy@localhost", "curtsy@[127.0.0.1]", "Curtsy <curtsy@crawler.example>", "a+b@crawler.example", "a@b@c.example",
		"a\r\nBcc: x@y.example", "a" + longest, strings.Replace(longest, "@", "@b", 1), `"a b"@crawler.example`,
	} {
		if CheckMailbox(no) == nil {
			t.Errorf("%q is accepted", no)
		}
	}
}
