package frontier

import (
	"context"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// robotsText sends the stored copy of an origin's robots.txt, if there is one and the shard is held
// here.
func (a answers) robotsText(_ context.Context, q questions.URLRequest, send func(crawl.RobotsText) error) error {
	u, err := canon.Parse(q.URL)
	if err != nil {
		return fmt.Errorf("robots-text %s: %w", q.URL, err)
	}
	s := a.shardOf(u.Host())
	if s == nil {
		return nil
	}
	var found *crawl.RobotsText
	err = s.Read(func() error {
		h, err := s.Ledger.HostNamed(u.Host())
		if h == nil || err != nil {
			return err
		}
		for i := range h.Origins {
			if o := &h.Origins[i]; o.Origin == u.Origin() && o.Copy == crawl.RobotsParsed {
				body := hosts.RobotsCopy(s.Ledger.Tx, h.ID, o.Origin)
				text := strings.ToValidUTF8(string(body[:min(len(body), crawl.MaxRobotsText)]), "?")
				found = &crawl.RobotsText{Origin: o.Origin.String(), Text: text, Size: len(body)}
			}
		}
		return nil
	})
	if err != nil {
		return s.Ledger.Blame(err)
	}
	if found == nil {
		return nil
	}
	return send(*found)
}
