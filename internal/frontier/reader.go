package frontier

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// specFile is the copy of the crawl's spec beside the shards, which is used for reading them while
// nothing runs.
const specFile = "spec.json"

// Reader answers questions from the files of a crawl that is not running: see Handlers.
type Reader struct {
	dir    string
	spec   crawl.Spec
	shards []*Shard
}

// SpecFile is the path of the spec of the crawl in dir. It is rewritten when the spec changes.
func SpecFile(dir string) string { return filepath.Join(dir, specFile) }

// ReadSpec reads the spec of the crawl in dir, as it was when the crawl ran last. If dir contains
// no crawl, the error says what to type.
func ReadSpec(dir string) (spec crawl.Spec, err error) {
	b, err := disk.ReadRegular(SpecFile(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return spec, err
	}
	if err != nil {
		return spec, fmt.Errorf("there is no crawl in %s: start one with `curtsy crawl --dir %s URL`: %w", dir, dir, err)
	}
	if err := json.Unmarshal(b, &spec); err != nil {
		return spec, fmt.Errorf("read %s: %w", SpecFile(dir), err)
	}
	return spec, nil
}

// CheckDir fails if dir is known to contain another crawl than the one of that name. Otherwise the
// new crawl would take the files of the other one for its own. The error says what to type.
func CheckDir(dir, crawl string) error {
	if spec, err := ReadSpec(dir); err == nil && spec.Name != crawl {
		return fmt.Errorf("%s contains the crawl %q: use --crawl %s, or another --dir", dir, spec.Name, spec.Name)
	}
	return nil
}

// CheckDaemonDir is CheckDir for a daemon, whose crawl is on a NATS server elsewhere. It also fails
// if dir is known to contain a crawl with its own server, which may have the same name.
func CheckDaemonDir(dir, crawl string) error {
	spec, err := ReadSpec(dir)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "nats", "lock")); err == nil {
		return fmt.Errorf("%s contains the crawl %q, which has its own NATS server: continue it with `curtsy crawl --dir %s`, or use another --dir",
			dir, spec.Name, dir)
	}
	return CheckDir(dir, crawl)
}

// OpenDir opens the frontier's files in dir for reading. It fails when there are none, and when
// another process has locked them; that process can answer.
func OpenDir(dir string) (*Reader, error) {
	spec, err := ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir, spec: spec}
	j, err := judge.New(r.spec)
	if err != nil {
		return nil, err
	}
	for id := range r.spec.Shards {
		path := filepath.Join(dir, store.FileName(id))
		if _, err := os.Stat(path); err != nil {
			continue // it was never owned here
		}
		s := newShard(id, path, j, slog.Default())
		r.shards = append(r.shards, s)
		if err := s.openReadOnly(); err != nil {
			r.Close()
			return nil, s.Ledger.Blame(err)
		}
	}
	return r, nil
}

func (s *Shard) openReadOnly() error {
	if err := s.Ledger.OpenFile(true); err != nil {
		return err
	}
	return s.Ledger.Guarded(s.read)
}

// read reads what a Reader keeps in memory.
func (s *Shard) read() error {
	if err := s.Ledger.Begin(false); err != nil {
		return err
	}
	err := hosts.LoadHosts(s.Ledger.Tx, func(h *hosts.Host) error {
		if !h.Untouched() { // other hosts are read when they are requested
			s.Ledger.Show(h)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.RUPSites.Load(time.Now()); err != nil {
		return err
	}
	return s.WebSub.Load(time.Now())
}

// Spec is the spec of the crawl.
func (r *Reader) Spec() crawl.Spec { return r.spec }

// Handlers answer from the files the questions that a Frontier answers over NATS.
func (r *Reader) Handlers() ask.Handlers {
	shards, spec := func() []*Shard { return r.shards }, func() crawl.Spec { return r.spec }
	return answers{shards: shards, spec: spec, mend: r.rest, stopped: true, logDir: r.dir}.handlers()
}

// rest changes a status for a crawl that is not running, and sets whether anything is left to do.
func (r *Reader) rest(parts []crawl.Status) {
	done := true
	for _, s := range r.shards {
		// Otherwise it was killed, and its log may contain more than its file.
		done = done && s.Ledger.Meta.Clean && !s.Ledger.HasPending()
	}
	var again, stored int64
	for _, p := range parts {
		again, stored = again+p.Again, stored+p.Stored
		for _, s := range p.Shards {
			done = done && s.DueSoon == 0
		}
	}
	done = done && (again == 0 || stored == 0) // otherwise it keeps its pages fresh
	for i := range parts {
		parts[i].Rate, parts[i].Outlook, parts[i].State = 0, nil, "stopped"
		if done {
			parts[i].State = "done"
		}
	}
}

// URLState is the state of one URL.
type URLState struct {
	URL    canon.URL
	Class  crawl.Class
	Reason crawl.Reason // "" for a URL that is queued or stored
	Detail string       // the rule that decided, or the target of a redirect
	Line   int          // line of robots.txt, if that decided
}

// EachURL calls f for every known URL, in an arbitrary order, until f fails.
func (r *Reader) EachURL(f func(URLState) error) error {
	for _, s := range r.shards {
		for from := []byte(nil); ; {
			next, err := s.URLs.Stretch(from, store.PassStretch, func(_ *hosts.Host, _ []byte, u *urls.Record) (bool, error) {
				return false, f(URLState{URL: u.URL, Class: u.Class, Reason: u.Reason, Detail: u.Detail, Line: u.Line})
			})
			if err != nil {
				return s.Ledger.Blame(err)
			}
			if next == nil {
				break
			}
			from = next
		}
	}
	return nil
}

// Close closes the files.
func (r *Reader) Close() error {
	for _, s := range r.shards {
		if s.Ledger.Tx != nil {
			s.Ledger.Tx.Rollback()
		}
		if s.Ledger.DB != nil {
			s.Ledger.DB.Close()
		}
	}
	return nil
}
