package service

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/version"
)

// NewRegistry returns a registry for the metrics of a process. It has those of every process: of
// Go, of the process itself, and curtsy_build_info.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	RegisterBuild(reg)
	return reg
}

// RegisterBuild registers curtsy_build_info. NewRegistry has called it already.
func RegisterBuild(reg prometheus.Registerer) {
	v := version.Get()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "curtsy_build_info", Help: "Always 1; the labels have the version of Curtsy.",
		ConstLabels: prometheus.Labels{"version": v.Version, "revision": v.Commit, "goversion": v.GoVersion},
	})
	build.Set(1)
	reg.MustRegister(build)
}

// CountShards registers the number of shards of a crawl, against which the number of owned shards
// is compared.
func CountShards(reg prometheus.Registerer, spec crawl.Spec) error {
	shards := prometheus.NewGauge(prometheus.GaugeOpts{Name: "curtsy_crawl_shards", Help: "Number of shards of the crawl."})
	shards.Set(float64(spec.Shards))
	return reg.Register(shards)
}
