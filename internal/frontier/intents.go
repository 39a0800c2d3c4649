package frontier

import (
	"context"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// webSub sends, for the shard of a topic, whether a hub was asked for what it now wants confirmed,
// and whether the subscription has been left.
func (a answers) webSub(_ context.Context, q crawl.WebSubQuestion, send func(crawl.WebSubIntent) error) error {
	topic, err := canon.Parse(q.Topic)
	if err != nil {
		return fmt.Errorf("websub %.100q: %w", q.Topic, err)
	}
	s := a.shardOf(topic.Host())
	if s == nil {
		return nil
	}
	var intent crawl.WebSubIntent
	if err := s.Read(func() error {
		intent.Wanted, intent.Left = s.WebSub.Intends(&q, time.Now()), s.WebSub.Left(&q)
		return nil
	}); err != nil {
		return s.Ledger.Blame(err)
	}
	return send(intent)
}
