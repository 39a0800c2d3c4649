// Package ask carries questions to the services of a crawl, and their answers back, over NATS. An
// answer is a list of JSON objects of any length. Every instance answers for the shards that it
// holds, and the asker waits until all shards have an answer. Package questions has the questions.
//
// A question is a request on the subject crawl.Names.Query(question). Its data is the request in
// JSON. Each instance sends three kinds of messages to the reply subject:
//
//   - A part has JSON objects, one a line. The asker acknowledges each part on the reply subject of
//     the part. So an instance has no more than a window of parts under way, even if the asker is
//     slow.
//   - A sign of life comes at once, and then each second. The first one names the shards that the
//     instance is going to answer for. Its reply subject is that of the parts.
//   - The final part comes last. Its headers name the shards that the instance has answered for, or
//     the error of its handler. They also have the number of parts, because NATS loses messages on
//     their way when a connection breaks.
//
// After a silence the asker sends a probe to the reply subject of an instance. If nobody listens
// there any more, the NATS server reports it.
package ask

import (
	"errors"
	"fmt"
	"time"
)

// Headers of an answer's messages.
const (
	headerKind   = "Ask-Kind"   // part, alive or final
	headerFrom   = "Ask-From"   // role and instance
	headerShards = "Ask-Shards" // of the final part and the first sign of life: numbers with commas
	headerError  = "Ask-Error"  // of the final part, if the handler failed
	headerParts  = "Ask-Parts"  // of the final part: the number of parts before it
)

const (
	kindPart  = "part"
	kindAlive = "alive"
	kindFinal = "final"

	stopWord  = "stop"  // acknowledges a part and asks for no more
	probeWord = "probe" // acknowledges nothing; the server answers it if nobody listens
)

const (
	// A part is sent when it has partBytes, and each instance may have window parts under way. The
	// server disconnects a client for which 64 MiB wait. 64 instances that answer 8 questions of
	// one client reach exactly this limit.
	partBytes = 64 << 10
	window    = 2
	ackWithin = 30 * time.Second // an asker that acknowledges nothing for this long has gone
)

const (
	signEvery = time.Second     // the interval of signs of life while a handler works
	quiet     = 4 * time.Second // after a silence of this length nothing more will come

	probeEvery = 250 * time.Millisecond // in a silence, for instances that are still working

	// If no instance announces a shard for this long, no instance holds it. The time begins when
	// the slowest of the other instances has announced its shards. A living instance announces its
	// shards within milliseconds, before it reads anything; the half second is for machines under
	// heavy load. If all announcements are slow, because the server or the network is, the time is
	// longer: slower times what the slowest instance took. If no instance has announced anything,
	// there is no answer to delay, and the server reports it when nobody listens. Then the asker
	// waits as long as for a working instance.
	unclaimed = 600 * time.Millisecond
)

// slower says how much longer than the slowest instance another one may take to announce itself.
const slower = 3

// ErrNobody means that no service of the crawl answers the question.
var ErrNobody = errors.New("no service answers")

// ErrIncomplete means that there is no answer for some shards. The answers for the others are
// valid. An IncompleteError has the list.
var ErrIncomplete = errors.New("the answer is incomplete")

// PartlyError is the error of a Handler that could not answer for some of its shards. What it sent
// is the complete answer for the others.
type PartlyError struct {
	Shards []int // without an answer
	Err    error // the reason; errors.Join of several
}

// Error is the text of the reason.
func (e *PartlyError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *PartlyError) Unwrap() error { return e.Err }

// IncompleteError names the shards without an answer. It is an ErrIncomplete.
type IncompleteError struct {
	Question string
	Missing  []int // in ascending order
	Shards   int   // how many the crawl has
	// Cause is why the asker stopped waiting, for example the error of its context. Nil: nothing
	// came for a while.
	Cause error
}

// Error lists the missing shards.
func (e *IncompleteError) Error() string {
	s := fmt.Sprintf("%s: no answer for %d of %d shards (%s)", e.Question, len(e.Missing), e.Shards, ranges(e.Missing))
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Is reports that an IncompleteError is an ErrIncomplete.
func (e *IncompleteError) Is(target error) bool { return target == ErrIncomplete }

// Unwrap returns the cause.
func (e *IncompleteError) Unwrap() error { return e.Cause }

// ranges writes sorted numbers in the form 0-3, 7.
func ranges(n []int) string {
	s := ""
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if s != "" {
			s += ", "
		}
		s += fmt.Sprint(n[i])
		if j > i {
			s += fmt.Sprintf("-%d", n[j])
		}
		i = j + 1
	}
	return s
}
