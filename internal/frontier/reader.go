package frontier

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// specFile keeps a copy of the crawl's spec beside the shards, for reading them while nothing runs.
const specFile = "spec.json"

// Reader answers questions from the files of a crawl that is not running. It is not safe for concurrent use.
type Reader struct {
	spec   crawl.Spec
	shards []*shard
}

// OpenDir opens the frontier's files in dir for reading. It fails when there are none, and when another process holds
// them: then that process is the one to ask.
func OpenDir(dir string) (*Reader, error) {
	b, err := os.ReadFile(filepath.Join(dir, specFile))
	if err != nil {
		return nil, fmt.Errorf("no crawl in %s: begin one with `curtsy crawl --dir %s URL`: %w", dir, dir, err)
	}
	r := &Reader{}
	if err := json.Unmarshal(b, &r.spec); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, specFile), err)
	}
	j, err := newJudge(r.spec)
	if err != nil {
		return nil, err
	}
	for id := range r.spec.Shards {
		path := filepath.Join(dir, fileName(id))
		if _, err := os.Stat(path); err != nil {
			continue // never owned here
		}
		s := &shard{id: id, path: path, log: slog.Default(), j: j, hosts: map[canon.Host]*host{}, byID: map[hostID]*host{}}
		if err := s.openReadOnly(); err != nil {
			r.Close()
			return nil, err
		}
		r.shards = append(r.shards, s)
	}
	return r, nil
}

func (s *shard) openReadOnly() error {
	db, err := openDB(s.path, true)
	if err != nil {
		return err
	}
	s.db = db
	var tx *bolt.Tx
	if tx, err = db.Begin(false); err != nil {
		return err
	}
	s.tx = tx
	if s.m, err = loadMeta(tx); err != nil {
		return err
	}
	s.epoch = s.m.Epoch
	err = loadHosts(tx, func(h *host) error {
		s.hosts[h.Name], s.byID[h.ID] = h, h
		return nil
	})
	if err != nil {
		return err
	}
	return s.loadSites(time.Now())
}

// Spec is the crawl's.
func (r *Reader) Spec() crawl.Spec { return r.spec }

// Status is the accounting as last committed.
func (r *Reader) Status() (crawl.Status, error) {
	now := time.Now()
	var parts []crawl.Status
	for _, s := range r.shards {
		parts = append(parts, s.status(now, now))
	}
	st := Sum(parts)
	st.State = "stopped"
	soon, clean := int64(0), true
	for _, s := range r.shards {
		clean = clean && s.m.Clean // else it was killed, and its log may hold more than its file
	}
	for _, s := range st.Shards {
		soon += s.DueSoon
	}
	if soon == 0 && clean && !endless(st) {
		st.State = "done"
	}
	st.Rate = 0
	return st, nil
}

// Hosts calls each for every host.
func (r *Reader) Hosts(each func(crawl.HostInfo) error) error {
	now := time.Now()
	for _, s := range r.shards {
		if err := s.eachHost(now, each); err != nil {
			return err
		}
	}
	return nil
}

// Explain answers `curtsy explain`. It fails only for what is not a URL at all.
func (r *Reader) Explain(raw string) (crawl.Explanation, error) {
	u, err := canon.Parse(raw)
	if err != nil {
		return crawl.Explanation{URL: raw}, fmt.Errorf("%s: %w", raw, err)
	}
	id := crawl.ShardOf(u.Host(), r.spec.Shards)
	for _, s := range r.shards {
		if s.id == id {
			return s.explain(raw, u, time.Now())
		}
	}
	return crawl.Explanation{URL: raw, Canonical: string(u), State: "unknown"}, nil
}

// Close closes the files.
func (r *Reader) Close() error {
	for _, s := range r.shards {
		if s.tx != nil {
			s.tx.Rollback()
		}
		if s.db != nil {
			s.db.Close()
		}
	}
	return nil
}

func trapped(u canon.URL) (string, bool) { return scope.Trap(u) }
