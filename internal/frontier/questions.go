package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// answers has the handlers of the frontier's questions. They are called over NATS for the shards
// that a Frontier holds, and directly for the files that a Reader has opened. No lock is held while
// a row is sent, because the asker may be slow.
type answers struct {
	shards func() []*Shard
	spec   func() crawl.Spec
	// mend may change the parts of a status before they are sent. There is one part for each shard.
	mend func(parts []crawl.Status)
	// stopped: the shards are files. Then a status that cannot be read is an error; otherwise the
	// shard is about to close.
	stopped bool
	logDir  string // the directory of the crawl log
}

func (a answers) handlers() ask.Handlers {
	return questions.Handlers(
		questions.Status.Handle(a.status),
		questions.History.Handle(a.history),
		questions.Hosts.Handle(a.hosts),
		questions.HostsPage.Handle(a.hostsPage),
		questions.Mirrors.Handle(a.mirrors),
		questions.MirrorsPage.Handle(a.mirrorsPage),
		questions.Updates.Handle(a.updates),
		questions.UpdatesPage.Handle(a.updatesPage),
		questions.Explain.Handle(a.explain),
		questions.Timeline.Handle(a.timeline),
		questions.RobotsText.Handle(a.robotsText),
		questions.Log.Handle(a.log),
		questions.URLsUnder.Handle(a.prefixURLs),
		questions.Judge.Handle(a.judge),
		questions.WebSub.Handle(a.webSub),
	)
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

// serveQuestions answers over NATS for the shards that f holds, until stop is called.
func (f *Frontier) serveQuestions() (stop func(), err error) {
	svc, err := ask.NewService(f.q.NC, f.names, "frontier", f.opt.Instance, "1.0.0")
	if err != nil {
		return nil, err
	}
	owned := func() []int {
		var ids []int
		for _, s := range f.open() {
			ids = append(ids, s.Ledger.ID)
		}
		return ids
	}
	if err := svc.HandleAll(owned, f.answers().handlers()); err != nil {
		svc.Stop()
		return nil, err
	}
	return func() { svc.Stop() }, nil
}

// each calls do for every open shard under its lock.
func (f *Frontier) each(do func(*Shard) error) error {
	for _, s := range f.open() {
		if err := s.Read(func() error { return do(s) }); err != nil {
			return err
		}
	}
	return nil
}

// perShard calls do for every shard under its lock. If one shard cannot be read, the answers of the
// others are needed all the more. So perShard continues after an error, and its own error names the
// shards that failed.
func (a answers) perShard(do func(*Shard) error) error {
	var failed []int
	var errs []error
	for _, s := range a.shards() {
		closed := true
		err := s.Read(func() error {
			closed = false
			return do(s)
		})
		if err == nil && closed {
			err = fmt.Errorf("shard %d is being opened again", s.Ledger.ID)
		}
		if err != nil {
			failed, errs = append(failed, s.Ledger.ID), append(errs, s.Ledger.Blame(err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &ask.PartlyError{Shards: failed, Err: errors.Join(errs...)}
}

// sendAll sends rows until one cannot be sent.
func sendAll[Row any](rows []Row, send func(Row) error) error {
	for _, row := range rows {
		if err := send(row); err != nil {
			return err
		}
	}
	return nil
}

// status sends the accounting of every shard.
func (a answers) status(_ context.Context, _ struct{}, send func(crawl.Status) error) error {
	var parts []crawl.Status
	now := time.Now()
	failed := a.perShard(func(s *Shard) error {
		parts = append(parts, s.Account.Status(now))
		return nil
	})
	a.mend(parts)
	if err := sendAll(parts, send); err != nil {
		return err
	}
	return failed
}

// historyPiece is the number of samples in one row, which has about 60 KB then.
const historyPiece = 400

// history sends the samples of every shard.
func (a answers) history(_ context.Context, q crawl.HistoryRequest, send func(crawl.HistoryPart) error) error {
	var parts []crawl.HistoryPart
	failed := a.perShard(func(s *Shard) error {
		end := time.Now()
		if a.stopped {
			end = time.UnixMilli(s.Ledger.Meta.Written)
		}
		part, err := s.History.Part(q, end)
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

// explain sends an explanation of each URL whose shard is held here. Other instances answer for the
// rest.
func (a answers) explain(_ context.Context, q questions.ExplainRequest, send func(crawl.Explanation) error) error {
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
		err = s.Read(func() error {
			y, err := s.Account.Explain(raw, u, time.Now())
			if x = &y; y.State == crawl.Queued.String() && s.Account.IsInFlight(u) {
				x.State = crawl.InFlight.String()
			}
			return err
		})
		if err == nil && x != nil {
			err = send(*x)
		}
		if err != nil {
			return s.Ledger.Blame(err)
		}
	}
	return nil
}

// shardOf returns the shard of a host, or nil if it is not held here.
func (a answers) shardOf(host canon.Host) *Shard {
	all, id := a.shards(), crawl.ShardOf(host, a.spec().Shards)
	if i := slices.IndexFunc(all, func(s *Shard) bool { return s.Ledger.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// hosts sends everything that is known of the hosts that q names, or of all hosts.
func (a answers) hosts(_ context.Context, q *questions.HostsRequest, send func(crawl.HostInfo) error) error {
	if q == nil || len(q.Hosts) == 0 {
		return eachHost(a, send, func(s *Shard, h *hosts.Host, now time.Time) []crawl.HostInfo {
			return []crawl.HostInfo{s.Account.HostInfo(h, now)}
		})
	}
	now := time.Now()
	for _, s := range a.shards() {
		var infos []crawl.HostInfo
		err := s.Read(func() error {
			for _, name := range q.Hosts {
				h, err := s.Ledger.HostNamed(name)
				if err != nil {
					return err
				}
				if h != nil && !h.Closed {
					infos = append(infos, s.Account.HostInfo(h, now))
				}
			}
			return nil
		})
		if err != nil {
			return s.Ledger.Blame(err)
		}
		if err := sendAll(infos, send); err != nil {
			return err
		}
	}
	return nil
}

// mirrors sends every origin that names a main host, or was found to be a mirror.
func (a answers) mirrors(_ context.Context, _ questions.Nothing, send func(crawl.MirrorInfo) error) error {
	return eachHost(a, send, func(_ *Shard, h *hosts.Host, _ time.Time) []crawl.MirrorInfo { return shard.MirrorInfos(h) })
}

// updates sends every site that reports its changes.
func (a answers) updates(_ context.Context, _ questions.Nothing, send func(crawl.UpdatesInfo) error) error {
	return eachHost(a, send, func(s *Shard, h *hosts.Host, _ time.Time) []crawl.UpdatesInfo { return s.Account.UpdatesInfos(h) })
}

// hostsAtOnce is how many hosts eachHost reads under the lock of a shard.
const hostsAtOnce = 64

// eachHost sends the rows of every host, a few hosts at a time.
func eachHost[Row any](a answers, send func(Row) error, rowsOf func(*Shard, *hosts.Host, time.Time) []Row) error {
	for _, s := range a.shards() {
		for from := []byte(nil); ; {
			var rows []Row
			var next []byte
			now := time.Now()
			err := s.Read(func() (err error) {
				var hosts []*hosts.Host
				hosts, next, err = s.Ledger.HostsFrom(from, hostsAtOnce)
				for _, h := range hosts {
					rows = append(rows, rowsOf(s, h, now)...)
				}
				return err
			})
			if err != nil {
				return s.Ledger.Blame(err)
			}
			if err := sendAll(rows, send); err != nil {
				return err
			}
			if from = next; from == nil {
				break
			}
		}
	}
	return nil
}

// maxPreviewed limits how many URLs of a shard are looked at to estimate the effect of another
// spec. It is about half a second of work.
const maxPreviewed = 200_000

// judge sends what another spec would make of the URLs of each shard. It changes nothing.
func (a answers) judge(ctx context.Context, spec crawl.Spec, send func(crawl.SpecEffect) error) error {
	next, err := judge.New(spec)
	if err != nil {
		return err
	}
	for _, s := range a.shards() {
		judged, err := s.Specs.Effect(ctx, &next, maxPreviewed)
		if err != nil {
			return s.Ledger.Blame(err)
		}
		if err := send(judged); err != nil {
			return err
		}
	}
	return nil
}
