package feed

// Memory limits how many batches the feeds of a process have in memory at the same time. Each feed
// may have one beside these, so that a sink that does not answer does not stop the others. It may
// be used concurrently.
type Memory chan struct{}

// NewMemory makes the Memory of a process.
func NewMemory() Memory { return make(Memory, shared) }
