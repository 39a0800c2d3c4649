package requests

import (
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/version"
)

func TestUserAgentNamesTheContact(t *testing.T) {
	if got := UserAgent(crawl.Spec{Agent: "mybot", Contact: "https://example.org/bot"}); got != "mybot/"+version.Product()+" (+https://example.org/bot)" {
		t.Error(got)
	}
}
