package crawl

import "time"

// Timeline is the answer to the question "timeline": the requests that were sent to a host, oldest
// first, with the pause that was owed before each.
type Timeline struct {
	Host        string    `json:"host"`
	DelayS      float64   `json:"delay_s"`      // that is owed now
	DelaySource string    `json:"delay_source"` // as in HostInfo
	Requests    []Request `json:"requests"`
	More        bool      `json:"more"` // there are older ones
	// Unknown are times in which requests may have been sent that nobody told of.
	Unknown []Unknown `json:"unknown"`
}

// Unknown is a time in which a visit was under way whose fetcher did not tell to the end what it
// sent.
type Unknown struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Visit string    `json:"visit"`
}

// Request is one request that was sent to a host.
type Request struct {
	URL  string `json:"url"`  // "" of what was forgotten since
	Kind string `json:"kind"` // page, robots, data, sitemap, download, …: see RequestKind
	// Start is when its first byte may have gone out; of one that is Unsent, when we set out to
	// send it. End is when its answer was read to the end, or its connection closed: from then on
	// the next delay counts. It is zero when Cut, since nobody knows it.
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
	Status int       `json:"status"` // HTTP status; 0 without an answer
	Bytes  int64     `json:"bytes"`  // of the answer's body, read from the wire
	Visit  string    `json:"visit"`  // under which it was sent
	// Seconds that had to pass at least between the end before and Start, and who asked for them:
	// default, configured, crawl-delay, backoff, retry-after.
	BoundS      float64 `json:"bound_s"`
	BoundSource string  `json:"bound_source"`
	Cut         bool    `json:"cut,omitempty"`    // our process ended in the middle of it
	Unsent      bool    `json:"unsent,omitempty"` // there was no address, or no connection
}
