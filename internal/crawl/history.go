package crawl

import "time"

// HistorySample is the accounting of a crawl, or of one of its shards, at a moment of its past.
// Queued is the number of waiting URLs, including those in flight. The other numbers usually only
// grow, so a rate is the difference of two samples. Fetches of known URLs can make them smaller.
type HistorySample struct {
	At         time.Time `json:"at"`
	Queued     int64     `json:"queued"`
	Stored     int64     `json:"stored"`
	Redirected int64     `json:"redirected"`
	Refused    int64     `json:"refused"`
	Failed     int64     `json:"failed"`
	Bytes      int64     `json:"bytes"`
	Requests   int64     `json:"requests"`         // sent to sites, of all kinds
	Silent     bool      `json:"silent,omitempty"` // nothing ran: the numbers are old
	// Order is the number of the last URL that the shard had accepted; 0 means not known. It is not
	// sent.
	Order uint64 `json:"-"`
}

// Add adds the sample of another shard for the same moment.
func (s *HistorySample) Add(o HistorySample) {
	s.Queued += o.Queued
	s.Stored += o.Stored
	s.Redirected += o.Redirected
	s.Refused += o.Refused
	s.Failed += o.Failed
	s.Bytes += o.Bytes
	s.Requests += o.Requests
}

// History is the past of a crawl: samples at equal distances, the oldest first. The last sample is
// the end, and may be nearer to the sample before it.
type History struct {
	Since   time.Time       `json:"since,omitzero"` // when the first of all samples was taken
	StepS   float64         `json:"step_s"`
	Samples []HistorySample `json:"samples"`
}

// HistoryRequest is the request of questions.History. It asks for the Span before a shard's last
// sample, with no more than one sample in a Step. Step is one of HistorySteps.
type HistoryRequest struct {
	Span time.Duration `json:"span"`
	Step time.Duration `json:"step"`
}

// HistoryPart has samples of one shard, at any distances. Between two samples the first one is
// valid. Further parts with the same Shard and Epoch continue it.
type HistoryPart struct {
	Shard   int             `json:"shard"`
	Epoch   uint64          `json:"epoch"`
	Since   time.Time       `json:"since,omitzero"`
	Samples []HistorySample `json:"samples"`
}

// HistorySteps are the possible distances of samples, the smallest first. A frontier thins out old
// samples by the same steps.
var HistorySteps = []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}
