package crawl

import "time"

// HistorySample is the accounting of a crawl, or of one of its shards, at a moment of its past.
// Queued is what waited then, URLs in flight included; the others only grow, but that URLs are
// asked for again, so a rate is the difference of two samples.
type HistorySample struct {
	At         time.Time `json:"at"`
	Queued     int64     `json:"queued"`
	Stored     int64     `json:"stored"`
	Redirected int64     `json:"redirected"`
	Refused    int64     `json:"refused"`
	Failed     int64     `json:"failed"`
	Bytes      int64     `json:"bytes"`
	Requests   int64     `json:"requests"`         // sent to sites, of all kinds
	Silent     bool      `json:"silent,omitempty"` // nothing ran: the figures are those of before
	// The number of the last URL that its shard had taken in; 0: not known. It is not told.
	Order uint64 `json:"-"`
}

// Add adds what another shard says of the same moment.
func (s *HistorySample) Add(o HistorySample) {
	s.Queued += o.Queued
	s.Stored += o.Stored
	s.Redirected += o.Redirected
	s.Refused += o.Refused
	s.Failed += o.Failed
	s.Bytes += o.Bytes
	s.Requests += o.Requests
}

// History is how a crawl got to where it stands: samples at equal distances, the oldest first, and
// one for the end, which may be nearer to the one before it.
type History struct {
	Since   time.Time       `json:"since,omitzero"` // the first sample there is at all
	StepS   float64         `json:"step_s"`
	Samples []HistorySample `json:"samples"`
}

// HistoryRequest is the question "history". Of the time before a shard's last sample it wants as
// much as Span, and no two samples within one step; Step is one of HistorySteps.
type HistoryRequest struct {
	Span time.Duration `json:"span"`
	Step time.Duration `json:"step"`
}

// HistoryPart is a piece of what one shard answers: samples of its own, at no fixed distances. What
// no sample says is as the one before it says. More pieces with the same Shard and Epoch go on.
type HistoryPart struct {
	Shard   int             `json:"shard"`
	Epoch   uint64          `json:"epoch"`
	Since   time.Time       `json:"since,omitzero"`
	Samples []HistorySample `json:"samples"`
}

// HistorySteps are the distances in which samples may be asked for, the finest first. What a
// frontier keeps grows coarser with age by the same steps.
var HistorySteps = []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}
