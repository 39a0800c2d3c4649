package frontier

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
)

// begin makes an opened shard continue from what was found. If it was left in order, the visits in
// its file continue. Otherwise these may not be all, and are forgotten.
func (s *Shard) begin(found hosts.Start, unaware time.Duration, now time.Time) error {
	s.ledger.Phase.Begin(found, unaware)
	list, err := schedule.TakeSaved(s.ledger.Tx)
	if err != nil || found != hosts.StartClean {
		return err
	}
	return errors.Join(s.visits.CarryOn(list, now), s.passes.JudgeVisits())
}
