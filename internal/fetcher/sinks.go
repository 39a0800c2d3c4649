package fetcher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// sinks are the streams to which a fetcher writes. The frontiers make them, with their limits. Here
// they are only opened, when they are first needed. They may be used concurrently.
type sinks struct {
	q     *queue.Conn
	names crawl.Names
	mu    sync.Mutex // guards logs and pages
	logs  []*queue.Log
	pages *queue.Work
}

func (o *sinks) log(ctx context.Context, shard int) (*queue.Log, error) {
	if shard < 0 || shard >= len(o.logs) {
		return nil, fmt.Errorf("shard %d does not exist: the crawl has %d", shard, len(o.logs))
	}
	o.mu.Lock()
	l := o.logs[shard]
	o.mu.Unlock()
	if l != nil {
		return l, nil
	}
	info, err := o.existing(ctx, o.names.EventsStream(shard))
	if err != nil {
		return nil, err
	}
	l, err = o.q.OpenLog(ctx, queue.LogConfig{
		Stream: info.Name, Subject: o.names.EventsSubject(shard), MaxBytes: info.MaxBytes, Replicas: info.Replicas,
	})
	if err == nil {
		o.mu.Lock()
		o.logs[shard] = l
		o.mu.Unlock()
	}
	return l, err
}

func (o *sinks) work(ctx context.Context) (*queue.Work, error) {
	o.mu.Lock()
	w := o.pages
	o.mu.Unlock()
	if w != nil {
		return w, nil
	}
	again := backoff.Delay{Least: leastGap, Most: time.Second}
	w, err := o.q.JoinWork(ctx, o.names.PagesStream(), func(error) bool { return again.Sleep(ctx) == nil })
	if err == nil {
		o.mu.Lock()
		o.pages = w
		o.mu.Unlock()
	}
	return w, err
}

// existing returns the configuration of a stream. It waits until the stream exists.
func (o *sinks) existing(ctx context.Context, name string) (jetstream.StreamConfig, error) {
	again := backoff.Delay{Least: leastGap, Most: time.Second}
	for {
		s, err := o.q.JS.Stream(ctx, name)
		if err == nil {
			return s.CachedInfo().Config, nil
		}
		if again.Sleep(ctx) != nil {
			return jetstream.StreamConfig{}, fmt.Errorf("stream %s: %w", name, err)
		}
	}
}

// appendEvent appends a message to a shard's log and returns when it is stored.
func (f *Fetcher) appendEvent(ctx context.Context, shard int, msg []byte) error {
	l, err := f.out.log(ctx, shard)
	if err == nil {
		err = f.fault("append")
	}
	if err == nil {
		_, err = l.Append(ctx, msg)
	}
	if err != nil {
		return err
	}
	return f.fault("appended")
}

// fault calls Options.Fault.
func (f *Fetcher) fault(point string) error {
	if f.opt.Fault == nil {
		return nil
	}
	return f.opt.Fault(point)
}

// sendPages hands pages to a shard's indexer and returns when they are safe: in a stream of NATS,
// or in a file of an indexer in this process.
func (f *Fetcher) sendPages(ctx context.Context, shard int, msg []byte) error {
	send := f.opt.SendPages
	if send == nil {
		w, err := f.out.work(ctx)
		if err != nil {
			return err
		}
		send = func(ctx context.Context, shard int, msg []byte) error {
			return w.Send(ctx, f.names.PagesSubject(shard), msg)
		}
	}
	if err := f.fault("send pages"); err != nil {
		return err
	}
	if err := send(ctx, shard, msg); err != nil {
		return err
	}
	return f.fault("sent pages")
}

// askRenew asks a shard's owner to renew the leases of visits.
func (f *Fetcher) askRenew(ctx context.Context, shard int, req crawl.Renew) (crawl.Renewed, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.RequestTimeout)
	defer cancel()
	m, err := f.q.NC.RequestWithContext(ctx, f.names.Renew(shard), crawl.AppendRenew(nil, req))
	if err != nil {
		return crawl.Renewed{}, err
	}
	return crawl.DecodeRenewed(m.Data)
}

// askRobots asks a shard's owner for the text of a robots.txt, which is too large to be part of
// every grant.
func (f *Fetcher) askRobots(ctx context.Context, shard int, digest []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.RequestTimeout)
	defer cancel()
	m, err := f.q.NC.RequestWithContext(ctx, f.names.Robots(shard), digest)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(m.Data); !bytes.Equal(sum[:], digest) {
		return nil, errors.New("the answer has another text")
	}
	return m.Data, nil
}

// askDispatch asks the owner of a site's shard for a part of the plan of a dispatch.
func (f *Fetcher) askDispatch(ctx context.Context, shard int, q crawl.DispatchQuery) (crawl.DispatchPlan, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.RequestTimeout)
	defer cancel()
	m, err := f.q.NC.RequestWithContext(ctx, f.names.Dispatch(shard), crawl.AppendDispatchQuery(nil, q))
	if err != nil {
		return crawl.DispatchPlan{}, err
	}
	return crawl.DecodeDispatchPlan(m.Data)
}
