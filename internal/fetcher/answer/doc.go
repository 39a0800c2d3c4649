// Package answer reads the head of an HTTP response: what its status and its header fields mean to
// a crawler. [RetryAfter] returns how long to wait, [ContentType] and [MediaType] what the body is,
// [Links] the links of Link fields, [Conditional] and [Validators] what a later request is
// validated with, and [StatusText] and [Wants] explain a refusal to people.
//
// The functions keep nothing and send nothing. They may be called concurrently.
package answer
