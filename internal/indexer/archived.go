package indexer

import (
	"context"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/backoff"
)

// A crawl with an archive (crawl.Spec.WARC) has what came over the wire written into WARC files, in
// the transactions that store its pages: see package archive. A crawl without one opens none.

// openArchive takes the shard's archive up as its store has it.
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

// keepArchive follows the spec, and makes the indexes of files that were closed, until ctx ends.
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

// closeArchive gives the open file its name, and makes the indexes that are missing.
func (s *shard) closeArchive() error {
	err := s.archive.Close()
	if err == nil {
		_, err = s.archive.Tidy()
	}
	if err != nil {
		// What is not done now is done by the next start.
		s.log.Error("the archive is not closed", "err", err)
	}
	return nil
}

// forgetArchived takes the records of what is forgotten out of the archive, and its names out of
// other pages' metadata. That may be in the archive of any shard, whosever the entries are. The
// mark begins with a word: before there was one, only records were taken out.
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
