// Package response reads HTTP/1 responses as browsers read them.
//
//	head, err := response.ReadHead(br, 64<<10)
//	body := head.Body(br)
//	…
//	reuse := head.Reusable() && body.Complete()
//
// Servers send heads that no grammar allows, and browsers show their pages. So a line of the head
// that cannot be read is skipped and counted, and costs only itself. Responses are still refused if
// two readings of where the body ends are possible (different lengths, or a chunk without a size),
// and if the head is longer than the limit.
//
// A connection must not be used again after anything odd, because the next bytes may not be the
// next response. Reusable reports this.
//
// What net/http accepts has the same meaning here. A fuzz target compares the two.
package response
