package indexer

import (
	"context"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/backoff"
)

// A crawl with an archive (crawl.Spec.WARC) writes what came over the wire into WARC files, in the
// transactions that store its pages: see package archive. A crawl without an archive opens none.

// openArchive opens the archive of the shard in the state that its store records.
func (s *shard) openArchive() (err error) {
	s.x.mu.Lock()
	spec := s.x.spec
	s.x.mu.Unlock()
	s.archive, err = archive.Open(s.store, archive.Options{
		Crawl: spec.Name, MaxFile: s.x.o.ArchiveFile, Log: s.log, Forgotten: s.x.hiding,
		Info: [][2]string{{"software", "Curtsy " + s.x.o.Version}, {"operator", spec.Contact}, {"robots", "obeyed (RFC 9309)"}, {"http-header-user-agent", spec.Agent}},
	})
	if err != nil {
		return err
	}
	return s.archive.SetDir(spec.WARC)
}

// keepArchive applies the spec, and makes the indexes of closed files, until ctx ends.
func (s *shard) keepArchive(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := s.x.specChanged()
		s.x.mu.Lock()
		dir := s.x.spec.WARC
		s.x.mu.Unlock()
		err := s.archive.SetDir(dir)
		if err == nil {
			_, err = s.archive.Tidy()
		}
		var retry <-chan time.Time
		if err != nil {
			wait := again.Next()
			s.log.Error("the archive could not be checked yet", "err", err, "wait", wait)
			retry = time.After(wait)
		} else {
			again.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-s.archive.Ended():
		case <-retry:
		}
	}
}

// closeArchive gives the open file its final name, and makes the missing indexes.
func (s *shard) closeArchive() error {
	err := s.archive.Close()
	if err == nil {
		_, err = s.archive.Tidy()
	}
	if err != nil {
		// The next start does what is not done now.
		s.log.Error("the archive is not closed", "err", err)
	}
	return nil
}

// forgetArchived removes the records of forgotten pages from the archive, and their names from the
// metadata of other pages. Those may be in the archive of any shard, whichever shard owns the
// entries. The mark begins with a word; older marks, without one, mean that only records were
// removed.
func (s *shard) forgetArchived(entries []string) error {
	did, err := s.archive.Forget(entries, "outlinks too\n"+strings.Join(entries, "\n"), s.x.hides)
	s.x.archiveFiles.Add(int64(did.Files))
	s.x.archiveRecords.Add(int64(did.Records))
	s.x.archiveOutlinks.Add(int64(did.Outlinks))
	if did.Files > 0 {
		s.log.Info("forgotten in the archive", "records", did.Records, "outlinks", did.Outlinks, "files", did.Files)
	}
	return err
}
