package questions

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
)

// List is a question for one page of a list that may be long. Each shard sends the first of its own
// rows, and the asker selects the first of these.
type List[Req Bounded, Row any] struct {
	Name  string // on the wire; it never changes
	By    Service
	Sorts Sorts[Row] // the orders that the list can have, the default first
	// Always changes a request before it is sent. Nil: it is sent as it is.
	Always func(req *Req)
}

// Bounded is a request for a page of a list. All structs that embed a crawl.Paging are Bounded.
type Bounded interface {
	// Bounds says which rows are wanted, and in what order.
	Bounds() crawl.Paging
}

// Ask asks c for a page of the list. An error that is not about the request is an
// ask.ErrIncomplete: some shards did not answer, and the page consists of the rows of the others.
func (l List[Req, Row]) Ask(ctx context.Context, c Crawl, req Req) (crawl.Paged[Row], error) {
	if l.Always != nil {
		l.Always(&req)
	}
	m, err := NewMerger(req.Bounds(), l.Sorts)
	if err != nil {
		return crawl.Paged[Row]{}, err
	}
	err = gather(ctx, c, l.Name, req, nil, func(part Part[Row]) error {
		m.Add(part)
		return nil
	})
	return m.Page(), err
}

// Check reports what is wrong with the bounds of a request, such as a cursor of another list.
func (l List[Req, Row]) Check(req Req) error {
	_, err := l.Top(req)
	return err
}

// Top makes a Top for the rows of one shard that a request asks for.
func (l List[Req, Row]) Top(req Req) (*Top[Row], error) {
	return NewTop(req.Bounds(), l.Sorts)
}

// Handle makes answer the handler of the question. It offers the rows of each of its shards to a
// Top, and then calls the method Send of this Top. The rest is as in Question.Handle.
func (l List[Req, Row]) Handle(answer func(ctx context.Context, req Req, send func(part Part[Row]) error) error) Answer {
	return handled(l.Name, answer)
}
