package dashboard

import (
	"context"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// robotsView is what robots.html shows.
type robotsView struct {
	Origin, Agent string
	Lines         []robotsLine
	Size          int
	Cut           bool
	Delay         float64 // seconds that it asks us to wait; meaningless unless Delays
	Delays        bool
	Mine          int // lines that are rules for us
}

// Remarks reports whether there is a remark on any line.
func (v robotsView) Remarks() bool {
	return slices.ContainsFunc(v.Lines, func(l robotsLine) bool { return l.Odd != "" })
}

// robotsLine is a line of a robots.txt, and how it was read.
type robotsLine struct {
	N    int
	Text string
	Mine bool   // it is a rule for us
	Odd  string // what is wrong with it
}

// robotsLines is how many lines of a robots.txt are shown.
const robotsLines = 1000

func (v robotsView) title() string { return "robots.txt of " + text(v.Origin, 80) }

// robotsText shows a robots.txt as it was read.
func robotsText(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	asked := r.URL.Query().Get("url")
	u, err := canon.Parse(asked)
	if err != nil {
		return nil, web.Wrong("This is not a URL: %s.", text(asked, 120))
	}
	t, found, err := questions.RobotsText.Ask(ctx, c, questions.URLRequest{URL: asked})
	if !found {
		if err != nil {
			return nil, err
		}
		return nil, web.NotFound("No robots.txt of %s is stored.", text(u.Origin().String(), 120)).With("curtsy explain " + webtext.ShellWord(u.Origin().String()+"/"))
	}
	v := robotsView{Origin: t.Origin, Agent: c.Spec.Agent, Size: t.Size, Cut: t.Size > crawl.MaxRobotsText}
	f := robots.Parse([]byte(t.Text))
	mine, odd := map[int]bool{}, map[int]string{}
	for _, l := range f.RulesFor(v.Agent) {
		mine[l.Line] = true
	}
	for _, d := range f.Diagnostics {
		odd[d.Line] = d.Reason
	}
	v.Mine = len(mine)
	d, ok := f.Rules(v.Agent, robots.Origin{}).CrawlDelay()
	v.Delay, v.Delays = d.Seconds(), ok
	body := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t.Text)
	for n, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		if n == robotsLines {
			v.Cut = true
			break
		}
		v.Lines = append(v.Lines, robotsLine{N: n + 1, Text: line, Mine: mine[n+1], Odd: odd[n+1]})
	}
	return v, nil
}
