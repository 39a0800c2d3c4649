package hosts

import (
	"time"
)

// Some changes concern very many URLs: a store that was lost, a spec that asks for pages again, a
// host that was forgotten. They are made by passes over the records, a stretch at a time and
// between commits, so that neither granting nor the log waits long. How far a pass has got is part
// of the shard's state; it goes on there after a crash, and wherever the shard goes.

// Pass is one of them.
type Pass struct {
	// Begins the pass if another spec calls for it; nil: no spec does.
	Begin func() error
	Some  func(now time.Time) (more bool, err error) // goes on for a stretch
	Left  func() bool                                // the pass is not done yet
}
