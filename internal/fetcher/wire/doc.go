// Package wire sends one request, politely, and reads its answer within limits of time and size.
//
// A [Hold] is the right to send requests to one host, one at a time. Under it, and only under it,
//
//   - a request is sent only through the [Gate], which holds one request at a time and the delay
//     from the end of a response to the next start;
//   - requests to one public address, which may serve thousands of hosts, need a token of its
//     limiter (iplimiter.go): a few at the same time, with a pause after each, shared by all names
//     of the address. The token is taken before anything is dialled. A request that gets none fails
//     with [LimiterTimeout], which carries the time when one is likely to be free;
//   - a second piece of code, which shares nothing with the gate, checks each request at the moment
//     its bytes would go out (check.go). It must never object; when it does, the request is not
//     sent and is counted as a violation;
//   - no request starts once the [Lease] has run out, by a clock that goes on in suspend; one under
//     way is cut off;
//   - the address actually dialled passes a guard (address.go), whatever name, redirect or
//     --resolve led to it;
//   - a request over https is signed in our name, if the client has a signer (sign.go).
//
// When any of these is in doubt, the request is not sent.
package wire
