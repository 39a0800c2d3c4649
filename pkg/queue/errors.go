package queue

import "errors"

// These are the errors that callers must distinguish. Each is wrapped with the stream, subject or
// key that it concerns.
var (
	// ErrAnchor: the log no longer continues from the given position. It lost messages, was created
	// again, or was purged beyond the messages that the reader has read. See Log.Rewind.
	ErrAnchor = errors.New("the log does not continue from the applied messages")
	// ErrFenced: another owner consumes this subject now.
	ErrFenced = errors.New("a newer owner consumes this")
	// ErrLost: another owner has the shard now.
	ErrLost = errors.New("ownership lost")
	// ErrNoSnapshot: there is no snapshot with that name, or it is damaged.
	ErrNoSnapshot = errors.New("the snapshot does not exist")
	// ErrDrop, wrapped by a BatchHandler, means that the message can never be handled. The message
	// is acknowledged and dropped.
	ErrDrop = errors.New("drop this message")
	// ErrTooLarge: the message is larger than the server allows, so sending it again would not
	// help.
	ErrTooLarge = errors.New("message too large")
)

// errSession ends a pull session. A new session solves the problem.
var errSession = errors.New("pull session ended")
