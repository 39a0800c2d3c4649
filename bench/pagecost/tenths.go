package main

import "time"

// progress has the CPU times of the process and of the server of the site at certain numbers of
// stored pages.
type progress []progressAt

type progressAt struct {
	pages       int64
	cpu, server time.Duration
}

func (p *progress) add(pages int64, cpu, server time.Duration) {
	*p = append(*p, progressAt{pages, cpu, server})
}

// tenth is what a tenth of the pages cost. The server does the same work for each page, so if it
// needed more CPU time for one tenth than for another, that is due to the machine.
type tenth struct{ cpu, server time.Duration }

// tenths returns what each tenth of the pages cost. CPU time between two samples is distributed
// evenly. What is used before the first page belongs to the first tenth, and what is used after the
// last page, until nothing is left to do, to the last.
func (p progress) tenths(pages int64) (cost [10]tenth) {
	if len(p) == 0 {
		return cost
	}
	last, i := p[0], 1
	for t := range cost {
		at := p[len(p)-1]
		if t < 9 {
			want := float64(pages) * float64(t+1) / 10
			for i < len(p)-1 && float64(p[i].pages) < want {
				i++
			}
			if i < len(p) {
				a, b := p[i-1], p[i]
				at = b
				if b.pages > a.pages {
					share := (want - float64(a.pages)) / float64(b.pages-a.pages)
					at.cpu = a.cpu + time.Duration(share*float64(b.cpu-a.cpu))
					at.server = a.server + time.Duration(share*float64(b.server-a.server))
				}
			}
		}
		cost[t], last = tenth{at.cpu - last.cpu, at.server - last.server}, at
	}
	return cost
}
