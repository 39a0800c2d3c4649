// Package ask carries questions from commands and dashboards to the services of a crawl, and their
// answers back, over NATS. Every instance that holds shards answers for them: the asker gathers the
// parts until each shard is answered for. Answers are lists of JSON objects of any length.
//
// The wire: a question is a request on crawl.Names.Query(question), its data the request in JSON.
// Each instance sends to the reply subject any number of parts: messages of JSON objects, one a
// line, with a reply subject that the asker acknowledges each part on, so that no more than a
// window of them is under way however slow the asker is; a sign of life at once, which names the
// shards it is going to answer for and that same subject, and each second; and one final part,
// whose headers name the shards it answered for, or the error its handler ended with, and how many
// parts were sent: NATS loses what is on its way when a connection breaks. In silence the asker
// sends a probe to the subject: when nobody listens there any more, the server says so.
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
	headerShards = "Ask-Shards" // of the final part and of the first sign of life: comma-separated
	headerError  = "Ask-Error"  // of the final part, when the handler failed
	headerParts  = "Ask-Parts"  // of the final part: how many were sent before it
)

const (
	kindPart  = "part"
	kindAlive = "alive"
	kindFinal = "final"

	stopWord  = "stop"  // acknowledges a part and wants no more
	probeWord = "probe" // acknowledges nothing: the server answers it when nobody listens any more
)

const (
	// A part is sent when it has grown to partBytes, and a window of them may be under way from
	// each instance. The server hangs up on a client for which 64 MiB wait: 64 instances that
	// answer 8 questions of one client come to just that.
	partBytes = 64 << 10
	window    = 2
	ackWithin = 30 * time.Second // an asker silent for so long has gone
)

const (
	signEvery = time.Second     // signs of life while a handler works
	quiet     = 4 * time.Second // nothing heard for so long: no more will come

	probeEvery = 250 * time.Millisecond // in silence: are those who work on their answers there?

	// Nobody says that it holds a shard for so long after the slowest of the others has said what
	// it holds: nobody does. Living instances say so within milliseconds, before they look anything
	// up. The first half second is for those on a machine that is out of breath; and where all are
	// slow to be heard, because the server or the network is, all are waited for longer: slower
	// times as long as the slowest took. Where nobody has said to hold anything there is no answer
	// to hold up, and the server says when nobody listens: then silence is waited for as if they
	// worked.
	unclaimed = 600 * time.Millisecond
)

// slower is how many times as long as the slowest instance took another may take to be heard.
const slower = 3

// ErrNobody: no service of the crawl answers this question at all.
var ErrNobody = errors.New("no service answers")

// ErrIncomplete: some shards were not answered for. What came is valid.
// IncompleteError has the list.
var ErrIncomplete = errors.New("the answer is incomplete")

// PartlyError is what a Handler ends with that could not answer for some of its shards: what it
// sent is the whole answer of the others.
type PartlyError struct {
	Shards []int // those it could not answer for
	Err    error // why; errors.Join of several
}

// Error says why.
func (e *PartlyError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *PartlyError) Unwrap() error { return e.Err }

// IncompleteError names the shards that were not answered for. It is an ErrIncomplete.
type IncompleteError struct {
	Question string
	Missing  []int
	Shards   int // in all
	// Why waiting ended early, such as the context's error; nil: nothing came for a while.
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

// Is makes it an ErrIncomplete.
func (e *IncompleteError) Is(target error) bool { return target == ErrIncomplete }

// Unwrap is the cause.
func (e *IncompleteError) Unwrap() error { return e.Cause }

// ranges writes sorted numbers as in 0-3, 7.
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
