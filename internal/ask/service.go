package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/curtsy/curtsy/internal/crawl"
)

const (
	maxAnswers   = 32   // that one instance works on at the same time
	maxQuestions = 1024 // that are accepted; more than maxAnswers wait, with signs of life
)

const flushWithin = 10 * time.Second

// Handler answers one question. It calls send for every object of the answer, from one goroutine.
// An error of send means that the asker has gone, and must be returned. ctx ends when the asker
// goes or the service stops. A Handler may be called from many goroutines.
type Handler func(ctx context.Context, req []byte, send func(v any) error) error

// Handlers are the handlers of a service, by the names of their questions (questions.Handlers).
// They answer over NATS (Service.HandleAll) or directly (Ask).
type Handlers map[string]Handler

// Ask calls the handler of a question directly. send receives the objects as the handler sends
// them.
func (h Handlers) Ask(ctx context.Context, question string, req any, send func(v any) error) error {
	answer, ok := h[question]
	if !ok {
		return fmt.Errorf("%w: the question %q is unknown to this service", ErrNobody, question)
	}
	data, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("ask %q: %w", question, err)
	}
	return answer(ctx, data, send)
}

// Service is an instance of a service that answers questions over NATS. `nats micro` lists it with
// its statistics. Its methods may be called from many goroutines.
type Service struct {
	nc   *nats.Conn
	name crawl.Names
	from string
	svc  micro.Service

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	places chan struct{} // has a token for each accepted question
	slots  chan struct{} // has a token for each running handler

	mu      sync.Mutex
	stopped bool           // guarded by mu
	wg      sync.WaitGroup // of answers; grows only while mu is held and stopped false
}

var (
	notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	semver    = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)
)

// NewService announces an instance of role ("frontier", "indexer") in a crawl. version is for
// people. A version that is not a plain semantic version is announced as 0.0.0, with the text
// itself in the metadata.
func NewService(nc *nats.Conn, name crawl.Names, role, instance, version string) (*Service, error) {
	v := strings.TrimPrefix(version, "v")
	if !semver.MatchString(v) {
		v = "0.0.0"
	}
	s := &Service{
		nc: nc, name: name, from: role + " " + instance,
		places: make(chan struct{}, maxQuestions), slots: make(chan struct{}, maxAnswers),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var err error
	s.svc, err = micro.AddService(nc, micro.Config{
		Name:               notInName.ReplaceAllString(string(name)+"-"+role, "_"),
		Version:            v,
		Description:        "Curtsy " + role + " of crawl " + string(name),
		Metadata:           map[string]string{"crawl": string(name), "role": role, "instance": instance, "version": version},
		QueueGroupDisabled: true, // every instance answers, each for its own shards
	})
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("announce %s: %w", s.from, err)
	}
	return s, nil
}

// Handle answers question from now on. shards returns the shards that the instance holds. An answer
// is for those that it holds both before and after h ran. h runs in a goroutine of its own for
// every question.
func (s *Service) Handle(question string, shards func() []int, h Handler) error {
	err := s.svc.AddEndpoint(notInName.ReplaceAllString(question, "_"), micro.HandlerFunc(func(r micro.Request) {
		select {
		case s.places <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.stopped {
			return
		}
		s.wg.Go(func() {
			defer func() { <-s.places }()
			s.answer(r, shards, h)
		})
	}), micro.WithEndpointSubject(s.name.Query(question)), micro.WithEndpointQueueGroupDisabled())
	if err == nil {
		err = s.nc.FlushTimeout(flushWithin) // when we return, the server knows
	}
	if err != nil {
		return fmt.Errorf("answer %q: %w", question, err)
	}
	return nil
}

// HandleAll calls Handle for every question of all.
func (s *Service) HandleAll(shards func() []int, all Handlers) error {
	for question, h := range all {
		if err := s.Handle(question, shards, h); err != nil {
			return err
		}
	}
	return nil
}

// Stop accepts no more questions, cancels the current answers and waits until their handlers
// return.
func (s *Service) Stop() error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	err := s.svc.Stop()
	s.cancel()
	s.wg.Wait()
	return err
}

func (s *Service) answer(r micro.Request, shards func() []int, h Handler) {
	w, err := newWriter(s, r.Reply(), shards())
	if err != nil {
		return
	}
	defer w.close() // until then the asker receives signs of life
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-w.ctx.Done():
		return
	}
	before := shards()
	err = h(w.ctx, r.Data(), w.send)
	after := shards()
	both := slices.DeleteFunc(slices.Clone(before), func(k int) bool { return !slices.Contains(after, k) })
	if partly := (*PartlyError)(nil); errors.As(err, &partly) {
		failed := func(k int) bool { return slices.Contains(partly.Shards, k) }
		w.finish(slices.DeleteFunc(slices.Clone(both), failed), nil)
		both = partly.Shards
	}
	w.finish(both, err)
}

func joinShards(shards []int) string {
	var b strings.Builder
	for i, k := range shards {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(k))
	}
	return b.String()
}
