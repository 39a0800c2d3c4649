// Package atp implements both ends of the Agent Transfer Protocol, ATP/0.1 (Lange, IBM Tokyo
// Research Laboratory, 1997), on which the addresses of Mobile-agent-server records rely: a robot
// is sent to a server near the documents, runs there, and its results are fetched.
//
// A request is a [Method], the URI of a resource, header fields and a body; a response is a status,
// header fields and a body. Each connection carries one request and one response. [Client] sends
// requests, [Server] answers them with a [Handler]. What an agent is, how it is admitted and what
// its results look like is not decided here: bodies are octets.
//
// What the draft fixes, and what was decided where it says nothing:
//
//	address        atp://host[:port][/place]; port 434, or 10434 where lower ones are reserved
//	request        Method SP URI SP ATP/0.1 CRLF, header lines, an empty line, a body of
//	               Content-Length octets. Decided: without a Content-Length there is no body;
//	               lines may end with LF alone; a line that begins with a blank continues the
//	               one before
//	response       ATP/0.1 SP status SP reason CRLF, header lines, an empty line, a body.
//	               Decided: without a Content-Length the body ends with the connection
//	version        any ATP/0.x is accepted, since a minor version may only add header fields;
//	               other major versions are answered with 505
//	methods        DISPATCH, RETRACT, FETCH, MESSAGE; other tokens reach the handler as well,
//	               which answers 501 to those it does not know. Case matters, as in HTTP
//	status         decided: HTTP's meanings of the same numbers
//	Agent-Id       decided: 1 to 64 of the characters A-Z a-z 0-9 . _ -
//	connections    decided: one request each; the server closes
//	TLS            decided: atps://host[:port] is the same protocol inside TLS; its port is 435, or
//	               10435 where lower ones are reserved
//	resuming       decided: a FETCH may have Range: octets=N-; the answer is 206 with Content-Range
//
// Every field has a limit; see the constants. Clocks are those of the connections' deadlines.
package atp

import (
	"errors"
	"fmt"
	"time"
)

// Version is what requests and responses of this package begin or end with.
const Version = "ATP/0.1"

// Default ports of the two schemes. The unprivileged ones are for systems where only the superuser
// may listen below 1024; nothing is ever sent to them unless an address names them.
const (
	Port             = 434
	PortTLS          = 435
	UnprivilegedPort = 10434
	UnprivilegedTLS  = 10435
)

// Limits of what is read. A message past one of them is refused, never cut.
const (
	MaxURI    = 2048     // octets of a request's URI
	MaxLine   = 4096     // octets of a header line with its end, and with those that continue it
	MaxFields = 64       // header lines
	MaxHead   = 16 << 10 // octets of first line and header lines together
	MaxReason = 256      // octets of a response's reason that are kept
	MaxAgent  = 64       // octets of an Agent-Id
)

// Method is what a request asks for.
type Method string

// The methods of the draft.
const (
	// Dispatch asks the server to build an agent from the body and to start it. When it succeeds,
	// the sender gives up its own copy.
	Dispatch Method = "DISPATCH"
	// Retract asks the server to send back the agent that Agent-Id names, and to end it.
	Retract Method = "RETRACT"
	// Fetch asks for the information that the URI names.
	Fetch Method = "FETCH"
	// Message passes a message to the agent that Agent-Id names and returns its answer.
	Message Method = "MESSAGE"
)

// Names of header fields, in the form in which [net/textproto.MIMEHeader] keeps them.
const (
	AgentID         = "Agent-Id"
	AgentLanguage   = "Agent-Language"
	AgentSystem     = "Agent-System"
	ContentEncoding = "Content-Encoding"
	ContentLength   = "Content-Length"
	ContentRange    = "Content-Range"
	ContentType     = "Content-Type"
	Date            = "Date"
	From            = "From"
	Range           = "Range"
	RetryAfter      = "Retry-After"
	UserAgent       = "User-Agent"
)

// Errors that a message may cause. They are wrapped with what was wrong.
var (
	// ErrMalformed means that a message does not follow the protocol.
	ErrMalformed = errors.New("ATP: malformed message")
	// ErrTooLarge means that a message is past one of the limits.
	ErrTooLarge = errors.New("ATP: message too large")
	// ErrVersion means that a message has another major version than 0.
	ErrVersion = errors.New("ATP: unsupported version")
)

// DefaultIdle is the longest time for which a connection may stay without an octet.
const DefaultIdle = time.Minute

// StatusError is a response that refuses a request. Handlers return it to have it sent; callers of
// a client may build it with [Response.Err].
type StatusError struct {
	Status     int           // HTTP's meaning of the number
	Reason     string        // one line for people
	RetryAfter time.Duration // when to try again, if known; sent in whole seconds, rounded up
}

// Error has the status and the reason in one line.
func (e *StatusError) Error() string { return fmt.Sprintf("ATP: %d %s", e.Status, e.Reason) }

// ValidAgentID reports whether s can be an Agent-Id: 1 to 64 of A-Z a-z 0-9 . _ -
func ValidAgentID(s string) bool {
	if s == "" || len(s) > MaxAgent {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
