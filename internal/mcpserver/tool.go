package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/semaphore"
)

// tool is what there is to say of one tool.
type tool struct {
	name, title, about string
	example            string // arguments that work
	// bound adds bounds to the arguments' schemas.
	bound func(in map[string]*jsonschema.Schema)
}

// answer is what a tool answers: the same twice, for programs and as text.
type answer interface{ text() string }

// add adds a tool that has arguments In and answers Out. What is wrong with a call is told in a
// tool's own error, which an assistant sees and can act on; none ends the session.
func add[In any, Out answer](s *Server, t tool, do func(context.Context, In) (Out, error)) {
	in, out := schema[In](), schema[Out]()
	t.bound(in.Properties)
	check, err := in.Resolve(nil)
	if err != nil {
		panic(err) // it is ours
	}
	yes, no := true, false
	s.mcp.AddTool(&mcp.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: in, OutputSchema: out,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: yes, IdempotentHint: yes, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := arguments[In](r.Params.Arguments, check)
		if err != nil {
			return failed(fmt.Errorf("the arguments of %s are wrong: %s. An example that works: %s", t.name, shown(err.Error()), t.example)), nil
		}
		var a Out
		err = func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			a, err = do(ctx, args)
			return err
		}()
		if err != nil {
			return failed(s.told(t.name, err)), nil
		}
		return &mcp.CallToolResult{StructuredContent: a, Content: []mcp.Content{&mcp.TextContent{Text: a.text()}}}, nil
	})
}

// schema is what T looks like in JSON.
func schema[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // they are ours
	}
	return s
}

// arguments reads what a tool is called with, if the schema allows it.
func arguments[In any](raw json.RawMessage, check *jsonschema.Resolved) (in In, err error) {
	given := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return in, errors.New("they are not a JSON object")
		}
	}
	for name, v := range given {
		if v == nil { // a model's way not to give one
			delete(given, name)
		}
	}
	if err := check.Validate(given); err != nil {
		return in, errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	// What was checked is what counts, not what another reading of the same bytes gives.
	b, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	return in, err
}

// wrongError is an error that whoever asked can do something about; it says what.
type wrongError string

func (e wrongError) Error() string { return string(e) }

func wrong(format string, args ...any) error { return wrongError(fmt.Sprintf(format, args...)) }

// ask calls do with the crawl when there is room for one more question.
func (s *Server) ask(ctx context.Context, do func(context.Context, Crawl) error) error {
	return s.o.Semaphore.Do(ctx, func(ctx context.Context) error { return s.o.Ask(ctx, do) })
}

// partly passes an error over that only says that some shards do not answer, and says so in words
// for the answer.
func partly(err error) (note string, rest error) {
	var missing *ask.IncompleteError
	if errors.As(err, &missing) && len(missing.Missing) < missing.Shards {
		return fmt.Sprintf("%d of %d parts of the crawl do not answer at the moment: this answer is incomplete", len(missing.Missing), missing.Shards), nil
	}
	return "", err
}

// told is an error as an assistant may see it. What went wrong may name files: that is for the log.
func (s *Server) told(tool string, err error) error {
	var w wrongError
	switch {
	case errors.As(err, &w):
		return w
	case errors.Is(err, semaphore.ErrBusy):
		return errors.New("too many questions at the same time: try again in a few seconds")
	case errors.Is(err, context.Canceled): // also where others are missing because of that
		return errors.New("the question was cancelled")
	case errors.Is(err, ask.ErrNobody), errors.Is(err, ask.ErrIncomplete):
		s.o.Log.Warn("no service answered", "tool", tool, "err", err)
		return errors.New("no service of the crawl answers at the moment; it may be starting or stopping: try again in a few seconds")
	case errors.Is(err, context.DeadlineExceeded):
		s.o.Log.Warn("no answer in time", "tool", tool, "err", err)
		return errors.New("there was no answer in time: try again later, or request less")
	}
	s.o.Log.Error("a question failed", "tool", tool, "err", err)
	return errors.New("the question could not be answered; curtsy's log has the reason, and trying again will probably not help")
}

func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// between bounds a number, and says what it is when it is not given.
func between(s *jsonschema.Schema, least, most, usual int, about string) {
	lo, hi := float64(least), float64(most)
	s.Minimum, s.Maximum, s.Description = &lo, &hi, about
	s.Default = fmt.Appendf(nil, "%d", usual)
}

// within bounds the length of a text.
func within(s *jsonschema.Schema, least, most int, about string) {
	s.MinLength, s.MaxLength, s.Description = &least, &most, about
}
