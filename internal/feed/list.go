package feed

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// State is how far a crawl was sent to a sink, over all its shards.
type State struct {
	// The sums, the latest times and the latest trouble. Shard has no meaning.
	crawl.FeedPosition
	Shards int // with a position
}

// List returns the state of all sinks of a crawl, by name. Where shards do not answer, the error is
// an ask.ErrIncomplete, and the states are those of the others.
func List(ctx context.Context, c questions.Crawl) ([]State, error) {
	all := map[string]*State{}
	err := questions.Feeds.Each(ctx, c, nil, func(p crawl.FeedPosition) error {
		s := all[p.Sink]
		if s == nil {
			all[p.Sink] = &State{FeedPosition: p, Shards: 1}
			return nil
		}
		s.Shards++
		s.Behind, s.Sent, s.Refused = s.Behind+p.Behind, s.Sent+p.Sent, s.Refused+p.Refused
		s.Swept = s.Swept && p.Swept
		if p.AckedAt.After(s.AckedAt) {
			s.AckedAt = p.AckedAt
		}
		if p.TroubleAt.After(s.TroubleAt) {
			s.Trouble, s.TroubleAt = p.Trouble, p.TroubleAt
		}
		return nil
	})
	var list []State
	for _, s := range all {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b State) int { return strings.Compare(a.Sink, b.Sink) })
	return list, err
}

// DeadFile is the path of the file of changes that a sink has refused, in the directory of a
// feeder.
func DeadFile(dir, sink string) string { return filepath.Join(dir, "feed-"+sink+".dead.jsonl") }
