package frontier

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/questions"
)

// countPrefix looks at up to store.PassStretch URLs of an entry's host, beginning at from, and
// counts those that the entry of Spec.Forgotten names. A nil from is the first URL. next is where
// to continue, and nil at the end. The caller holds mu.
func (s *Shard) countPrefix(entry string, from []byte) (n int64, next []byte, err error) {
	if !s.Ledger.Phase.MayRead() {
		return 0, nil, nil
	}
	h, err := s.Ledger.HostNamed(crawl.EntryHost(entry))
	if h == nil || err != nil {
		return 0, nil, err
	}
	prefix := h.ID.Append(nil)
	if from == nil {
		from = prefix
	}
	seen := 0
	c := s.Ledger.Records().Cursor()
	for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if seen++; seen > store.PassStretch {
			return n, slices.Clone(k), nil
		}
		if strings.Contains(entry, "://") {
			r, err := urls.DecodeRecord(k, v)
			if err != nil {
				return n, nil, err
			}
			if !strings.HasPrefix(string(r.URL), entry) {
				continue
			}
		}
		n++
	}
	return n, nil, nil
}

// prefixURLs sends the count if the shard of the entry's host is held here. It counts in stretches,
// and between them the shard continues its own work.
func (a answers) prefixURLs(_ context.Context, q questions.PrefixRequest, send func(crawl.PrefixCount) error) error {
	s := a.shardOf(crawl.EntryHost(q.Entry))
	if s == nil {
		return nil
	}
	var all int64
	for next := []byte(nil); ; {
		err := s.Read(func() (err error) {
			var n int64
			n, next, err = s.countPrefix(q.Entry, next)
			all += n
			return err
		})
		if err != nil || next == nil {
			return errors.Join(s.Ledger.Blame(err), send(crawl.PrefixCount{URLs: all}))
		}
	}
}
