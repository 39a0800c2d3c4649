package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// metrics are the metrics of one crawl.
type metrics struct{ *prometheus.Registry }

// fetched returns how many pages the fetcher read completely and kept; any other outcome on this
// site is a mistake.
func (m metrics) fetched() (int64, error) {
	var pages int64
	for _, one := range m.family("curtsy_fetcher_results_total") {
		class := ""
		for _, l := range one.GetLabel() {
			if l.GetName() == "class" {
				class = l.GetValue()
			}
		}
		n := int64(one.GetCounter().GetValue())
		switch class {
		case "stored":
			pages += n
		case "returned": // requested again later
		default:
			return 0, fmt.Errorf("%d answers of the site were %s: what was measured is not a plain crawl", n, class)
		}
	}
	return pages, nil
}

// counter returns the value of a counter, 0 if there is none of that name.
func (m metrics) counter(name string) (n int64) {
	for _, one := range m.family(name) {
		n += int64(one.GetCounter().GetValue())
	}
	return n
}

func (m metrics) family(name string) []*dto.Metric {
	all, err := m.Gather()
	if err != nil {
		return nil
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.GetMetric()
		}
	}
	return nil
}
