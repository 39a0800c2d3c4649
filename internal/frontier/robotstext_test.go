package frontier

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// The copy of a robots.txt is shown for the origin that has it, and for no other; only the
// beginning of a long one.
func TestRobotsText(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	c := asked(b)
	text := func(url string) (crawl.RobotsText, bool) {
		t.Helper()
		got, found, err := questions.RobotsText.Ask(t.Context(), c, questions.URLRequest{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return got, found
	}
	if _, found := text("http://a.example/x"); found {
		t.Error("there is a copy before it was fetched")
	}
	const body = "User-agent: *\nDisallow: /private\n"
	b.learned("http://a.example", body, b.grant(1)[0].ID)
	if got, found := text("http://a.example/x"); !found || got.Origin != "http://a.example" || got.Text != body || got.Size != len(body) {
		t.Errorf("%+v, %v", got, found)
	}
	for _, other := range []string{"https://a.example/", "http://a.example:81/", "http://b.example/"} {
		if _, found := text(other); found {
			t.Errorf("%s has a copy", other)
		}
	}
	long := body + strings.Repeat("# ä\xff\n", crawl.MaxRobotsText)
	b.learned("http://a.example", long, crawl.VisitID{})
	if got, _ := text("http://a.example/"); got.Size != len(long) || !strings.HasPrefix(got.Text, body) || len(got.Text) > crawl.MaxRobotsText {
		t.Errorf("of %d bytes %d are reported, %d shown", len(long), got.Size, len(got.Text))
	}
	if _, _, err := questions.RobotsText.Ask(t.Context(), c, questions.URLRequest{URL: "no URL"}); err == nil {
		t.Error("of no URL there is an answer")
	}
}
