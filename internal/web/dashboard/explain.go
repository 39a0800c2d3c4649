package dashboard

import (
	"context"
	"errors"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// explainView is what explain.html shows.
type explainView struct {
	URL   string // as it was typed
	Wrong string // why it is none
	X     *crawl.Explanation
	Host  string
	// The robots.txt that decides.
	RobotsURL  string
	Page       *crawl.PageRecord // as it is stored; nil: it is not
	MaxURL     int
	CanControl bool // a process runs that can be controlled
}

func (v explainView) title() string {
	if v.X == nil {
		return "Explain a URL"
	}
	return text(v.X.Canonical, 80)
}

func explain(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	v := explainView{URL: r.URL.Query().Get("url"), MaxURL: canon.MaxLen, CanControl: !c.Stopped()}
	if v.URL == "" {
		return v, nil
	}
	u, err := canon.Parse(v.URL)
	if err != nil {
		v.URL, v.Wrong = text(v.URL, canon.MaxLen), err.Error()
		return v, nil
	}
	x, err := c.Explain(ctx, v.URL)
	if err != nil && (!errors.Is(err, ask.ErrIncomplete) || !x.Seen) {
		return nil, err
	}
	v.X, v.Host, v.RobotsURL = &x, u.Host().String(), u.Origin().String()+"/robots.txt"
	if x.State != crawl.Stored.String() {
		return v, err
	}
	// Only the directives of the page are needed, not its content.
	rec, found, err := c.Page(ctx, v.URL, "")
	if found {
		v.Page = &rec
		return v, nil
	}
	return v, err
}

// Quotable reports whether the page may be quoted.
func (v explainView) Quotable() bool { return v.X.SnippetAllowed != nil && *v.X.SnippetAllowed }
