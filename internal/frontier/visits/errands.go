package visits

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
)

// dressErrands leaves of some errands those that go with a visit to h, each as its fetcher is to
// have it.
func (s *Visits) dressErrands(h *ledger.Host, errands []crawl.Errand, now time.Time) (dressed []crawl.Errand, err error) {
	dressers := map[crawl.ErrandKind]func(e *crawl.Errand) (bool, error){}
	for _, e := range errands {
		dress, ok := dressers[e.Kind]
		if kind := s.features.Kinds[e.Kind]; !ok && kind.Dress != nil {
			dress = kind.Dress(h, now)
			dressers[e.Kind] = dress
		}
		if dress != nil {
			if ok, err := dress(&e); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		dressed = append(dressed, e)
	}
	return dressed, nil
}
