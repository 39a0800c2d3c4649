package schedule

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// dressAux selects the auxiliary requests that go with a visit to h, and completes each for its
// fetcher.
func (s *Visits) dressAux(h *hosts.Host, aux []crawl.AuxRequest, now time.Time) (dressed []crawl.AuxRequest, err error) {
	dressers := map[crawl.AuxKind]func(e *crawl.AuxRequest) (bool, error){}
	for _, e := range aux {
		if from, _ := s.polite.Caused.From(h, &e); from.After(now) {
			continue // because of the ones before
		}
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
		if err := s.polite.Caused.Use(h, &e, now); err != nil {
			return nil, err
		}
		dressed = append(dressed, e)
	}
	return dressed, nil
}
