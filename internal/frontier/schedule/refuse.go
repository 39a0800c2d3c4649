package schedule

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// RefuseQueued makes r, which is Queued, refused if the current spec does not permit it.
func (s *Visits) RefuseQueued(h *hosts.Host, key []byte, r *urls.Record) error {
	changed, err := s.JudgeOne(h, r)
	if err != nil || !changed {
		return err
	}
	return s.urls.PutURL(key, r)
}

// JudgeOne decides again about a URL that is Queued, or that was refused for a reason that a
// setting may undo. The caller writes the record if it changed.
func (s *Visits) JudgeOne(h *hosts.Host, r *urls.Record) (changed bool, err error) {
	was := r.Class
	if changed, err = s.judgeOne(h, r); changed {
		s.ledger.Meta.Judging.Count(was, r.Class)
	}
	return changed, err
}

func (s *Visits) judgeOne(h *hosts.Host, r *urls.Record) (changed bool, err error) {
	switch {
	case r.Class == crawl.Queued:
		v := s.urls.Decide(r, h)
		if v.Class == crawl.Queued {
			return false, nil
		}
		return true, s.urls.SetState(h, r, v)
	case r.Class == crawl.Refused && r.Reason.Has(crawl.UndoneBySpec):
		v := s.urls.Decide(r, h)
		if v.Class == crawl.Refused && v.Reason == r.Reason {
			return false, nil
		}
		v.Silent = true
		return true, s.urls.SetState(h, r, v)
	case s.Undone(h, r):
		if r.Class == crawl.Stored {
			r.ValidatorsForgotten()
		}
		return true, s.urls.Refetch(h, r)
	}
	return false, nil
}

// Undone reports that r has its class because of a setting that has changed since. A stored page
// that needs scripts is one if such pages are rendered now.
func (s *Visits) Undone(h *hosts.Host, r *urls.Record) bool {
	if r.Class == crawl.Stored {
		return r.Rendering == crawl.RenderingNeeded && s.ledger.Judge.Renders(r.URL) && s.ledger.Meta.Judging.RendersOthers()
	}
	if r.Class != r.Reason.Class() {
		return false // it is still being tried
	}
	return s.ledger.Meta.Judging.Undoes(r.Reason, h.Name)
}
