// Package wire sends one request, politely, and reads its answer within limits of time and size.
//
// A [Session] is the right to send requests to one host, one at a time. Every request is sent in
// one, and
//
//   - it passes the [Gate], which allows one request at a time and enforces the delay from the end
//     of a response to the next request;
//   - it needs a token of the limiter of its public address, which may serve thousands of hosts
//     (iplimiter.go): a few requests at the same time, with a pause after each, shared by all
//     names of the address. The token is taken before anything is dialled. A request that gets
//     none fails with [LimiterTimeout], which says when one is likely to be free;
//   - a second piece of code, which shares nothing with the gate, checks it when its bytes are
//     about to go out (check.go). It must never object. If it does, the request is not sent and
//     is counted as a violation;
//   - it does not start after the end of the [Lease], by a clock that continues in suspend, and a
//     running request is cut off then;
//   - the address that is actually dialled passes a guard (address.go), whatever name, redirect
//     or --resolve led to it;
//   - if it goes over https, it is signed in our name, if the client has a signer (sign.go).
//
// If any of these is in doubt, the request is not sent.
package wire
