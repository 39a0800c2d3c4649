package queue

import "errors"

// Errors a caller decides on. All come wrapped with the stream, subject or key they are about.
var (
	// ErrAnchor: the log no longer continues the position it was to be followed from. It lost
	// messages, was made anew, or was purged further than we had read. See Log.Rewind.
	ErrAnchor = errors.New("the log does not continue from the applied messages")
	// ErrFenced: another owner consumes this subject now.
	ErrFenced = errors.New("a newer owner consumes this")
	// ErrLost: another owner holds the shard now.
	ErrLost = errors.New("ownership lost")
	// ErrNoSnapshot: there is no snapshot of that name, or it is damaged.
	ErrNoSnapshot = errors.New("the snapshot does not exist")
	// ErrDrop, wrapped by a BatchHandler, says that a message can never be handled: it is
	// acknowledged and dropped.
	ErrDrop = errors.New("drop this message")
	// ErrTooLarge: the message is over the server's limit for one; sending it again would not help.
	ErrTooLarge = errors.New("message too large")
)

// errSession ends a pull session. Another session mends what was wrong.
var errSession = errors.New("pull session ended")
