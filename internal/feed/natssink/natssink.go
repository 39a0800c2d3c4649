// Package natssink is a sink of package feed: a stream of NATS JetStream.
//
// Each change is a message on SUBJECT.SHARD.ID. Its data is a page as `curtsy export pages` writes
// it, after its id and version, and empty if the page is to be deleted. Headers:
//
//	Nats-Msg-Id       ID-VERSION, so that the server drops a repetition within its window
//	Curtsy-Version    grows with each change of the page
//	Curtsy-Crawl, Curtsy-Shard, Curtsy-Generation
//	Curtsy-Removed    why the page is to be deleted
//
// A message on SUBJECT.SHARD.sweep asks to delete what the shard has of earlier generations. A
// stream that the sink creates keeps the last message of each subject, which is the state of each
// page.
package natssink

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Options are the settings of a sink.
type Options struct {
	Subject string // the beginning of the subjects
	Stream  string // the stream, which Prepare creates if it is missing; "": the one of the subject
	// Connect connects to the server. It is called by Prepare, until it succeeds once.
	Connect func() (*nats.Conn, error)
}

// Sink publishes changes.
type Sink struct {
	o Options

	mu sync.Mutex // guards what follows
	nc *nats.Conn // nil: not connected yet
	js jetstream.JetStream
}

var (
	subjects = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	streams  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// maxSubject limits the subject and the name of a stream, in bytes.
const maxSubject = 200

// Open makes a sink. It connects to nothing.
func Open(o Options) (*Sink, error) {
	switch {
	case len(o.Subject) > maxSubject || !subjects.MatchString(o.Subject):
		return nil, errors.New("the path is no subject: use words of letters, digits, '_' or '-' with dots between them")
	case o.Stream != "" && (len(o.Stream) > maxSubject || !streams.MatchString(o.Stream)):
		return nil, errors.New("the name of the stream is not valid: use letters, digits, '_' or '-'")
	}
	return &Sink{o: o}, nil
}

// Prepare connects, and creates the stream if it is missing.
func (s *Sink) Prepare(ctx context.Context, _ []siterules.FieldInfo) error {
	js, err := s.connected()
	if err != nil {
		return err
	}
	if s.o.Stream == "" {
		_, err := js.StreamNameBySubject(ctx, s.o.Subject+".0.sweep")
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return &feed.Permanent{Err: fmt.Errorf("no stream has the subjects %s.>; add ?stream=NAME to the URL, and one is created", s.o.Subject)}
		}
		return err
	}
	_, err = js.Stream(ctx, s.o.Stream)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: s.o.Stream, Subjects: []string{s.o.Subject + ".>"}, MaxMsgsPerSubject: 1,
		Description: "the stored pages of a crawl: the last change of each page"})
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) && api.ErrorCode != jetstream.JSErrCodeStreamNameInUse {
		return &feed.Permanent{Err: fmt.Errorf("create the stream %s: %w", s.o.Stream, err)}
	}
	return err
}

// connected connects once.
func (s *Sink) connected() (jetstream.JetStream, error) {
	s.mu.Lock()
	js := s.js
	s.mu.Unlock()
	if js != nil {
		return js, nil
	}
	nc, err := s.o.Connect() // by one goroutine: package feed prepares a sink once at a time
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, &feed.Permanent{Err: fmt.Errorf("%w: check the user in the URL and CURTSY_FEED_PASSWORD or CURTSY_FEED_TOKEN", err)}
	}
	if err != nil {
		return nil, err
	}
	if js, err = jetstream.New(nc); err != nil {
		nc.Close()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nc, s.js = nc, js
	return js, nil
}

// Write publishes a batch and waits until the server has stored it.
func (s *Sink) Write(ctx context.Context, b feed.Batch) (refused []feed.Refused, err error) {
	js, err := s.connected()
	if err != nil {
		return nil, err
	}
	var waiting []jetstream.PubAckFuture
	for i := range b.Changes {
		c := &b.Changes[i]
		m := s.message(b.Crawl, b.Shard, b.Generation, c.ID)
		m.Header.Set("Nats-Msg-Id", c.ID+"-"+strconv.FormatInt(c.Version, 10))
		m.Header.Set("Curtsy-Version", strconv.FormatInt(c.Version, 10))
		if c.Row.Removed != "" {
			m.Header.Set("Curtsy-Removed", c.Row.Removed)
		} else if m.Data, err = c.Line(); err != nil {
			return nil, err
		}
		future, err := js.PublishMsgAsync(m)
		if errors.Is(err, nats.ErrMaxPayload) {
			refused = append(refused, feed.Refused{Change: c, Reason: fmt.Sprintf("a message of %d bytes is larger than the server allows", len(m.Data))})
			continue
		}
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, future)
	}
	for _, f := range waiting {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return nil, fmt.Errorf("publish to %s: %w", s.o.Subject, err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return refused, nil
}

// Sweep publishes a message.
func (s *Sink) Sweep(ctx context.Context, crawlName string, shard int, generation int64) error {
	js, err := s.connected()
	if err != nil {
		return err
	}
	m := s.message(crawlName, shard, generation, "sweep")
	m.Header.Set("Nats-Msg-Id", fmt.Sprintf("sweep-%s-%d-%d", crawlName, shard, generation))
	_, err = js.PublishMsg(ctx, m)
	return err
}

func (s *Sink) message(crawlName string, shard int, generation int64, what string) *nats.Msg {
	m := nats.NewMsg(s.o.Subject + "." + strconv.Itoa(shard) + "." + what)
	m.Header.Set("Curtsy-Crawl", crawlName)
	m.Header.Set("Curtsy-Shard", strconv.Itoa(shard))
	m.Header.Set("Curtsy-Generation", strconv.FormatInt(generation, 10))
	return m
}

// Close closes the connection.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nc != nil {
		s.nc.Close()
	}
	return nil
}
