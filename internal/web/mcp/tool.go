package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/web"
)

// tool describes one tool.
type tool struct {
	name, title, about string
	example            string // arguments that work
	// bound adds limits to the schemas of the arguments.
	bound func(in map[string]*jsonschema.Schema)
}

// answer is what a tool answers: an object for programs, and the same as text.
type answer interface{ text() string }

// add adds a tool that has arguments In and answers Out. If something is wrong with a call, the
// tool answers with an error that the assistant sees and can act on. No error ends the session.
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
			return failed(s.reported(ctx, t.name, err)), nil
		}
		return &mcp.CallToolResult{StructuredContent: a, Content: []mcp.Content{&mcp.TextContent{Text: a.text()}}}, nil
	})
}

// schema is the JSON schema of T.
func schema[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // they are ours
	}
	return s
}

// arguments reads the arguments of a call, if the schema allows them.
func arguments[In any](raw json.RawMessage, check *jsonschema.Resolved) (in In, err error) {
	given := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return in, errors.New("they are not a JSON object")
		}
	}
	for name, v := range given {
		if v == nil { // models write null for an argument that they leave out
			delete(given, name)
		}
	}
	if err := check.Validate(given); err != nil {
		return in, errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	// Use what was checked, and do not parse the same bytes a second time in another way.
	b, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	return in, err
}

// wrongError is an error that the assistant can correct. Its text says how.
type wrongError string

func (e wrongError) Error() string { return string(e) }

func wrong(format string, args ...any) error { return wrongError(fmt.Sprintf(format, args...)) }

// ask calls do with the crawl as soon as one more question can be answered.
func (s *Server) ask(ctx context.Context, do func(context.Context, Crawl) error) error {
	return s.o.Semaphore.Do(ctx, func(ctx context.Context) error { return s.o.Ask(ctx, do) })
}

// partly replaces an error that only reports missing shards by a note for the answer.
func partly(err error) (note string, rest error) {
	var missing *ask.IncompleteError
	if errors.As(err, &missing) && len(missing.Missing) < missing.Shards {
		return incomplete(missing), nil
	}
	return "", err
}

// incomplete is the note on an answer that lacks shards.
func incomplete(missing *ask.IncompleteError) string {
	return fmt.Sprintf("%d of %d parts of the crawl do not answer at the moment: this answer is incomplete", len(missing.Missing), missing.Shards)
}

// reported is an error as an assistant may see it. Other errors may name files: they go to the log.
func (s *Server) reported(ctx context.Context, tool string, err error) error {
	var w wrongError
	if errors.As(err, &w) {
		return w
	}
	cause := web.CauseOf(ctx, err)
	if cause != web.Busy && errors.Is(err, context.Canceled) { // why shards may be missing
		cause = web.Cancelled
	}
	switch cause {
	case web.Busy:
		return errors.New("too many questions at the same time: try again in a few seconds")
	case web.Cancelled:
		return errors.New("the question was cancelled")
	case web.Nobody:
		s.o.Log.Warn("no service answered", "tool", tool, "err", err)
		return errors.New("no service of the crawl answers at the moment; it may be starting or stopping: try again in a few seconds")
	case web.Late:
		s.o.Log.Warn("no answer in time", "tool", tool, "err", err)
		return errors.New("there was no answer in time: try again later, or request less")
	}
	s.o.Log.Error("a question failed", "tool", tool, "err", err)
	return errors.New("the question could not be answered; curtsy's log has the reason, and trying again will probably not help")
}

func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// between bounds a number and sets its default.
func between(s *jsonschema.Schema, least, most, usual int, about string) {
	lo, hi := float64(least), float64(most)
	s.Minimum, s.Maximum, s.Description = &lo, &hi, about
	s.Default = fmt.Appendf(nil, "%d", usual)
}

// within bounds the length of a text.
func within(s *jsonschema.Schema, least, most int, about string) {
	s.MinLength, s.MaxLength, s.Description = &least, &most, about
}
