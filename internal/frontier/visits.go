package frontier

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
)

// begin makes a shard that was just opened go on from what was found: if it was left in order, with
// the visits that came in its file. Else they may not be all there are, and are forgotten.
func (s *Shard) begin(found hosts.Start, unaware time.Duration, now time.Time) error {
	s.ledger.Phase.Begin(found, unaware)
	list, err := schedule.TakeSaved(s.ledger.Tx)
	if err != nil || found != hosts.StartClean {
		return err
	}
	return errors.Join(s.visits.CarryOn(list, now), s.passes.JudgeVisits())
}
