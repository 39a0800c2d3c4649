// Package response reads HTTP/1 responses as browsers read them.
//
//	head, err := response.ReadHead(br, 64<<10)
//	body := head.Body(br)
//	…
//	reuse := head.Reusable() && body.Complete()
//
// Servers send heads that no grammar allows, and browsers show their pages. So a line of the head
// that cannot be read is skipped and counted, and costs only itself. What stays refused is what
// would leave two readings of where the body ends: different lengths, or a chunk without a size;
// and a head past the limit.
//
// Whoever reads like this must not use a connection again after anything odd: the next bytes may
// not be the next response. Reusable says so.
//
// What net/http accepts means the same here; a fuzz target compares the two.
package response
