// Package questions is the table of everything that the services of a crawl can be asked. Each
// question is one value. It has the name on the wire, the type of the request, the type of the rows
// of the answer, the service that answers, and the rule by which the rows of all shards become one
// answer.
//
// The frontier's questions are in frontier.go, the indexer's in indexer.go. Most questions are a
// Question. Those whose answer is a page of a long list are a List.
//
// A new question needs three things. The first is its value in this package:
//
//	var RobotsText = add(Question[URLRequest, crawl.RobotsText]{Name: "robots-text", By: Frontier})
//
// The second is a handler, among the handlers of the service:
//
//	questions.RobotsText.Handle(a.robotsText)
//
// The third is a caller. Everything that implements Crawl can be asked, first of all an
// asker.Crawl:
//
//	text, found, err := questions.RobotsText.Ask(ctx, c, questions.URLRequest{URL: url})
//
// Package ask carries requests and answers between processes, and knows no question by name.
package questions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/curtsy/curtsy/internal/ask"
)

// Service is a service of a crawl that answers questions.
type Service string

// The services. Their instances answer for the shards that they hold.
const (
	Frontier Service = "frontier"
	Indexer  Service = "indexer"
)

// Crawl is a crawl that can be asked: a running crawl (ask.Running), or either a running or a
// stopped crawl (asker.Crawl).
type Crawl interface {
	// Ask calls each for every object of the answer of all shards. An object is a json.RawMessage
	// that is valid until each returns, or the object itself. shards, unless it is nil, lists the
	// shards that are waited for, given the number of all. The error is an ask.ErrIncomplete when
	// some of them do not answer; the objects that came are valid.
	Ask(ctx context.Context, question string, req any, shards func(of int) []int, each func(v any) error) error
}

// Question is a question that is answered in rows.
type Question[Req, Row any] struct {
	Name string // on the wire; it never changes
	By   Service
	// Shards lists the shards whose answers are waited for, given their number. Nil: all shards.
	Shards func(req Req, of int) []int
	// Check reports what is wrong with a request before it is sent. Nil: every request is valid.
	Check func(req Req) error
	// Merge adds a row to an answer. The first row is the first answer. Nil: a row replaces the
	// row before it.
	Merge func(answer *Row, row Row)
	// Whole reports that an answer needs no more rows, so that it does not matter whether other
	// shards answered. Nil: all shards must answer.
	Whole func(answer *Row) bool
}

// Each asks c and calls each for every row of the answer, in no particular order. Where shards do
// not answer, the error is an ask.ErrIncomplete, and the rows that came are valid. An error of each
// ends the answer and is returned as it is.
func (q Question[Req, Row]) Each(ctx context.Context, c Crawl, req Req, each func(row Row) error) error {
	if q.Check != nil {
		if err := q.Check(req); err != nil {
			return err
		}
	}
	var shards func(int) []int
	if q.Shards != nil {
		shards = func(of int) []int { return q.Shards(req, of) }
	}
	return gather(ctx, c, q.Name, req, shards, each)
}

// Ask asks c and merges the rows into one answer. found is false when no row came. Where shards do
// not answer and the answer is not whole without them, the error is an ask.ErrIncomplete.
func (q Question[Req, Row]) Ask(ctx context.Context, c Crawl, req Req) (answer Row, found bool, err error) {
	err = q.Each(ctx, c, req, func(row Row) error {
		if found && q.Merge != nil {
			q.Merge(&answer, row)
		} else {
			answer, found = row, true
		}
		return nil
	})
	if found && q.Whole != nil && q.Whole(&answer) && errors.Is(err, ask.ErrIncomplete) {
		err = nil
	}
	return answer, found, err
}

// one is the Whole of a question to which only one shard knows the answer.
func one[Row any](*Row) bool { return true }

// Answer is a question with the handler that answers it.
type Answer struct {
	name   string
	handle ask.Handler
}

// Handle makes answer the handler of the question. It sends the rows of the shards that its service
// holds, from one goroutine. An error of send means that the asker has gone, and must be returned.
// ctx ends when the asker goes or the service stops.
func (q Question[Req, Row]) Handle(answer func(ctx context.Context, req Req, send func(row Row) error) error) Answer {
	return handled(q.Name, answer)
}

func handled[Req, Row any](question string, answer func(context.Context, Req, func(Row) error) error) Answer {
	return Answer{question, func(ctx context.Context, data []byte, send func(any) error) error {
		var req Req
		if len(data) > 0 {
			if err := json.Unmarshal(data, &req); err != nil {
				return fmt.Errorf("%s: %w", question, err)
			}
		}
		return answer(ctx, req, func(row Row) error { return send(row) })
	}}
}

// Handlers makes the handlers of a service from its answers. It panics if there are two answers to
// one question.
func Handlers(answers ...Answer) ask.Handlers {
	all := ask.Handlers{}
	for _, a := range answers {
		if all[a.name] != nil {
			panic("two handlers of the question " + a.name)
		}
		all[a.name] = a.handle
	}
	return all
}

// gather asks c and calls each for every row.
func gather[Row any](ctx context.Context, c Crawl, question string, req any, shards func(int) []int, each func(Row) error) error {
	return c.Ask(ctx, question, req, shards, func(v any) error {
		row, err := Decode[Row](question, v)
		if err != nil {
			return err
		}
		return each(row)
	})
}

// Decode reads an object of the answer to a question, as Crawl.Ask delivers it. It is for questions
// whose rows have several types.
func Decode[Row any](question string, v any) (row Row, err error) {
	if row, ok := v.(Row); ok {
		return row, nil
	}
	raw, ok := v.(json.RawMessage)
	if !ok {
		return row, fmt.Errorf("answer to %s: %T instead of %T", question, v, row)
	}
	if err := json.Unmarshal(raw, &row); err != nil {
		return row, fmt.Errorf("answer to %s: %w", question, err)
	}
	return row, nil
}
