// Package remote lets fetchers use renderers in other processes, over NATS. [Serve] is the side of
// the renderer, and [New] that of the fetcher. A renderer stores nothing and belongs to no crawl,
// so all crawls of a NATS account share its slots. A slot renders one page at a time.
//
// A free slot is a subscription to crawl.RenderSubject, in one queue group, that the server removes
// with the first message. So a request goes to a free slot only. If there is none, the server
// reports that nobody listens, and the fetcher asks again, at first after 50 ms and later once a
// second.
//
// The slot answers, and a session begins. Both sides send frames to each other's inbox: parts of
// messages, and signs of life, every 3 s. The messages are the page, then requests of the page and
// their responses, then the result. Each frame has the numbers of parts that its sender has sent
// and received. Therefore a lost part is noticed, and no more than a window of parts is in flight.
// After a loss, after a silence of 10 s, and if the server reports that the other side no longer
// listens, a session ends: the fetcher's Render returns [render.ErrUnavailable], and the slot of
// the renderer is free again. No session is resumed, because its page can be rendered again.
//
// Neither side trusts the other's lengths: a message has limits, and memory is allocated for what
// has arrived.
package remote
