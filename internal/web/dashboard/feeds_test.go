package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// The page of feeds sums up the shards of each feed. Those that fail come first, then those that
// are furthest behind; the overview has only those that fail.
func TestFeeds(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	positions := sends(
		crawl.FeedPosition{Sink: "in-step", Shard: 0, Sent: 30, AckedAt: at}, crawl.FeedPosition{Sink: "in-step", Shard: 1, Sent: 12, AckedAt: at},
		crawl.FeedPosition{Sink: "behind", Shard: 0, Behind: 7, Sent: 3, AckedAt: at}, crawl.FeedPosition{Sink: "behind", Shard: 1, Behind: 1000, Refused: 2},
		crawl.FeedPosition{Sink: "failing", Shard: 1, Behind: 5, Trouble: "password <wrong>", TroubleAt: at},
	)
	handlers := ask.Handlers{"status": sends(running()), "search": sends(), "feeds": positions}
	c := browse(t, New(Options{Ask: answering(handlers), Name: "manuals", Typed: " --dir /srv/x"}))
	_, body := c.get("/feeds")
	checkMarkup(t, body)
	last := 0
	for _, want := range []string{
		">failing<", `<b class="alert">failed</b>`, "password &lt;wrong&gt;", "1 shard not begun", `<span class="soft">nothing yet</span>`,
		">behind<", "is being sent", "1,007", "<code>feed-behind.dead.jsonl</code>", ">in-step<", "in step", ">42<", "curtsy feed --forget NAME --dir /srv/x",
	} {
		i := strings.Index(body[last:], want)
		if i < 0 {
			t.Errorf("the page of feeds does not have %q after what stands before it: %s", want, body)
			continue
		}
		last += i
	}
	_, body = c.get("/")
	if !strings.Contains(body, `The <a href="/feeds">feed failing</a> failed`) || !strings.Contains(body, "with 5 changes still to send: password &lt;wrong&gt;") || strings.Contains(body, "feed behind") {
		t.Errorf("the overview: %s", body)
	}
}
