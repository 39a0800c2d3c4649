package crawl

import "time"

// Timeline has the requests that were sent to a host, the oldest first, and the delay that was
// required before each.
type Timeline struct {
	Host        string    `json:"host"`
	DelayS      float64   `json:"delay_s"`      // that is required now
	DelaySource string    `json:"delay_source"` // as in HostInfo
	Requests    []Request `json:"requests"`
	More        bool      `json:"more"` // there are older requests
	// Unknown are times in which requests may have been sent that were not reported.
	Unknown []Unknown `json:"unknown"`
}

// Unknown is the time of a visit whose fetcher did not report all its requests.
type Unknown struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Visit string    `json:"visit"`
}

// Request is one request that was sent to a host.
type Request struct {
	URL  string `json:"url"`  // empty if it was forgotten since
	Kind string `json:"kind"` // page, robots, data, sitemap, download, …: see RequestKind
	// Start is when the first byte may have been sent. For a request that is Unsent it is when we
	// began to prepare it. End is when the response was read or the connection closed; then the
	// next delay begins. It is zero for a request that is Cut, because it is not known.
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
	Status int       `json:"status"` // HTTP status; 0: no response
	Bytes  int64     `json:"bytes"`  // of the response's body, as read from the wire
	Visit  string    `json:"visit"`  // in which it was sent
	// BoundS is the required number of seconds between the previous End and Start. BoundSource is
	// where it comes from: default, configured, crawl-delay, backoff or retry-after.
	BoundS      float64 `json:"bound_s"`
	BoundSource string  `json:"bound_source"`
	Cut         bool    `json:"cut,omitempty"`    // our process ended during the request
	Unsent      bool    `json:"unsent,omitempty"` // there was no address, or no connection
}
