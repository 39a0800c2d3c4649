package hosts

import (
	"time"
)

// Some changes concern very many URLs: the loss of a page store, a spec that fetches pages again, a
// host that was forgotten. Passes over the records make such changes, in stretches between commits,
// so that neither grants nor the log wait for long. The progress of a pass is part of the shard's
// state; the pass continues after a crash, and at the shard's next owner.

// Pass is a pass over records.
type Pass struct {
	// Begin starts the pass if a new spec requires it; nil: no spec does.
	Begin func() error
	Some  func(now time.Time) (more bool, err error) // does the next stretch
	Left  func() bool                                // reports that the pass is not done yet
}
