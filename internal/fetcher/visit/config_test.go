package visit

import (
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestUserAgentNamesTheContact(t *testing.T) {
	if got := UserAgent(crawl.Spec{Agent: "mybot", Contact: "https://example.org/bot"}); got != "mybot/"+Version+" (+https://example.org/bot)" {
		t.Error(got)
	}
}
