package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/pkg/canon"
)

// answers are the handlers of a frontier's questions. The same handlers are used behind NATS, for
// the shards that a Frontier owns, and directly, for the files that a Reader has opened. No lock is
// held while an object is sent, because the receiver may be slow.
type answers struct {
	shards func() []*Shard
	spec   func() crawl.Spec
	// mend may change the parts of a status, of which there is one for each shard.
	mend func(parts []crawl.Status)
	// The crawl is stopped: an unreadable status is an error, and not a shard that is about to
	// close.
	stopped bool
	logDir  string // directory of the crawl log
}

// handlers are the questions by name.
func (a answers) handlers() ask.Handlers {
	return ask.Handlers{
		"status": a.status, "hosts": a.hosts, "hosts-page": a.hostsPage, "mirrors-page": a.mirrorsPage, "updates-page": a.updatesPage,
		"mirrors": a.mirrors, "updates": a.updates, "explain": a.explain,
		"urls-under": a.prefixURLs, "timeline": a.timeline, "robots-text": a.robotsText, "log": a.log, "history": a.history,
		"judge": a.judge, "websub": a.webSub,
	}
}

func (f *Frontier) answers() answers {
	return answers{shards: f.open, spec: f.spec, logDir: f.opt.Dir, mend: func(parts []crawl.Status) {
		if full := f.full(); full != nil {
			for i := range parts {
				parts[i].State, parts[i].Trouble = "paused", full.Error()
			}
		}
	}}
}

// serveQuestions answers over NATS for the owned shards.
func (f *Frontier) serveQuestions() (stop func(), err error) {
	svc, err := ask.NewService(f.q.NC, f.names, "frontier", f.opt.Instance, "1.0.0")
	if err != nil {
		return nil, err
	}
	owned := func() []int {
		var ids []int
		for _, s := range f.open() {
			ids = append(ids, s.ledger.ID)
		}
		return ids
	}
	if err := svc.HandleAll(owned, f.answers().handlers()); err != nil {
		svc.Stop()
		return nil, err
	}
	return func() { svc.Stop() }, nil
}

// locked calls do under the shard's lock, unless the shard is closed.
func (s *Shard) locked(do func() error) error {
	s.ledger.Mu.Lock()
	defer s.ledger.Mu.Unlock()
	if !s.ledger.Phase.MayRead() {
		return nil
	}
	return s.ledger.Guarded(do)
}

// each calls do for every open shard under its lock.
func (f *Frontier) each(do func(*Shard) error) error {
	for _, s := range f.open() {
		if err := s.locked(func() error { return do(s) }); err != nil {
			return err
		}
	}
	return nil
}

// perShard calls do for every shard under its lock. It continues after an error, because the
// answers of the other shards are even more useful then. Its error names the shards that failed.
func (a answers) perShard(do func(*Shard) error) error {
	var failed []int
	var errs []error
	for _, s := range a.shards() {
		closed := true
		err := s.locked(func() error {
			closed = false
			return do(s)
		})
		if err == nil && closed {
			err = fmt.Errorf("shard %d is being opened again", s.ledger.ID)
		}
		if err != nil {
			failed, errs = append(failed, s.ledger.ID), append(errs, s.ledger.Blame(err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &ask.PartlyError{Shards: failed, Err: errors.Join(errs...)}
}

// status sends the status of every shard.
func (a answers) status(_ context.Context, _ []byte, send func(any) error) error {
	var parts []crawl.Status
	now := time.Now()
	failed := a.perShard(func(s *Shard) error {
		parts = append(parts, s.account.Status(now))
		return nil
	})
	a.mend(parts)
	for _, p := range parts {
		if err := send(p); err != nil {
			return err
		}
	}
	return failed
}

// historyPiece is how many samples are sent in one message: about 60 KB.
const historyPiece = 400

// history sends the samples of every shard.
func (a answers) history(_ context.Context, req []byte, send func(any) error) error {
	var q crawl.HistoryRequest
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	var parts []crawl.HistoryPart
	failed := a.perShard(func(s *Shard) error {
		end := time.Now()
		if a.stopped {
			end = time.UnixMilli(s.ledger.Meta.Written)
		}
		part, err := s.history.Part(q, end)
		if err == nil {
			parts = append(parts, part)
		}
		return err
	})
	for _, part := range parts {
		for samples := range slices.Chunk(part.Samples, historyPiece) {
			part.Samples = samples
			if err := send(part); err != nil {
				return err
			}
		}
	}
	return failed
}

// explainRequest is the question "explain": about one URL, or about several.
type explainRequest struct {
	URL  string   `json:"url,omitempty"`
	URLs []string `json:"urls,omitempty"`
}

// explain answers for the URLs whose shards are ours; the owners of the others answer for them.
func (a answers) explain(_ context.Context, req []byte, send func(any) error) error {
	var q explainRequest
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	if len(q.URLs) == 0 {
		q.URLs = []string{q.URL}
	}
	for _, raw := range q.URLs {
		u, err := canon.Parse(raw)
		if err != nil {
			return fmt.Errorf("explain %s: %w", raw, err)
		}
		s := a.shardOf(u.Host())
		if s == nil {
			continue
		}
		var x *crawl.Explanation
		err = s.locked(func() error {
			y, err := s.account.Explain(raw, u, time.Now())
			if x = &y; y.State == crawl.Queued.String() && s.account.IsInFlight(u) {
				x.State = crawl.InFlight.String()
			}
			return err
		})
		if err == nil && x != nil {
			err = send(*x)
		}
		if err != nil {
			return s.ledger.Blame(err)
		}
	}
	return nil
}

// shardOf returns the shard of a host, or nil when it is not ours.
func (a answers) shardOf(host canon.Host) *Shard {
	all, id := a.shards(), crawl.ShardOf(host, a.spec().Shards)
	if i := slices.IndexFunc(all, func(s *Shard) bool { return s.ledger.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// hostsRequest is the question "hosts": about these, or about all.
type hostsRequest struct {
	Hosts []canon.Host `json:"hosts,omitempty"`
}

// hosts sends what is known of every requested host.
func (a answers) hosts(_ context.Context, req []byte, send func(any) error) error {
	var q hostsRequest
	if len(req) > 0 {
		if err := json.Unmarshal(req, &q); err != nil {
			return fmt.Errorf("hosts: %w", err)
		}
	}
	if len(q.Hosts) == 0 {
		return a.eachHost(func(s *Shard, h *hosts.Host, now time.Time) []any { return []any{s.account.HostInfo(h, now)} }, send)
	}
	now := time.Now()
	for _, s := range a.shards() {
		var infos []any
		err := s.locked(func() error {
			for _, name := range q.Hosts {
				h, err := s.ledger.HostNamed(name)
				if err != nil {
					return err
				}
				if h != nil && !h.Closed {
					infos = append(infos, s.account.HostInfo(h, now))
				}
			}
			return nil
		})
		if err != nil {
			return s.ledger.Blame(err)
		}
		for _, info := range infos {
			if err := send(info); err != nil {
				return err
			}
		}
	}
	return nil
}

// mirrors sends every origin that names a main host, or was found to be a mirror.
func (a answers) mirrors(_ context.Context, _ []byte, send func(any) error) error {
	return a.eachHost(func(_ *Shard, h *hosts.Host, _ time.Time) []any { return objects(shard.MirrorInfos(h)) }, send)
}

// updates sends every site that reports its changes.
func (a answers) updates(_ context.Context, _ []byte, send func(any) error) error {
	return a.eachHost(func(s *Shard, h *hosts.Host, _ time.Time) []any { return objects(s.account.UpdatesInfos(h)) }, send)
}

func objects[T any](list []T) (all []any) {
	for _, v := range list {
		all = append(all, v)
	}
	return all
}

// eachHost sends the results of row for every host, some hosts at a time.
func (a answers) eachHost(row func(*Shard, *hosts.Host, time.Time) []any, send func(any) error) error {
	for _, s := range a.shards() {
		for from := []byte(nil); ; {
			var infos []any
			var next []byte
			now := time.Now()
			err := s.locked(func() (err error) {
				var hosts []*hosts.Host
				hosts, next, err = s.ledger.HostsFrom(from, 64)
				for _, h := range hosts {
					infos = append(infos, row(s, h, now)...)
				}
				return err
			})
			if err != nil {
				return s.ledger.Blame(err)
			}
			for _, info := range infos {
				if err := send(info); err != nil {
					return err
				}
			}
			if from = next; from == nil {
				break
			}
		}
	}
	return nil
}
