// Package requests sends the requests of one visit, one after the other, and keeps their account:
// how many were sent, how long the host is left alone, and whether another one may be sent. It is
// used by all packages that ask a host for something: robots, wellknown, page and visit.
//
// [Requests] belongs to the goroutine of its visit. [Trail] follows redirects as far as a visit
// may, and [Config] is a crawl's spec made ready for use.
//
// A site that refuses, moves or vanishes is no error here. What a failed request means for its URL
// is a wire.Failure ([Requests.FailureOf]).
package requests
