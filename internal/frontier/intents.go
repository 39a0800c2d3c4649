package frontier

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// webSub answers for the shard of a topic whether a hub was sent the request that it verifies, and
// whether the subscription has ended.
func (a answers) webSub(_ context.Context, req []byte, send func(any) error) error {
	var q crawl.WebSubQuestion
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("websub: %w", err)
	}
	topic, err := canon.Parse(q.Topic)
	if err != nil {
		return fmt.Errorf("websub %.100q: %w", q.Topic, err)
	}
	s := a.shardOf(topic.Host())
	if s == nil {
		return nil
	}
	var intent crawl.WebSubIntent
	if err := s.locked(func() error {
		intent.Wanted, intent.Left = s.websub.Intends(&q, time.Now()), s.websub.Left(&q)
		return nil
	}); err != nil {
		return s.ledger.Blame(err)
	}
	return send(intent)
}
