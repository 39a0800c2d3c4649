package hosts

// growthOf is the approximate number of finished URLs over which growth is measured.
const growthOf = 8

// growth is whether a host's queue grows. It is in memory only.
type growth struct {
	// URLs found since the first URL of this host was done, and URLs done. Older ones count less:
	// see Grows.
	grew, ended float64
}

// Found notes that a URL of the host was queued for the first time. URLs found before the first URL
// of the host itself was done do not count: most hosts begin with an index, and its many links say
// nothing about the number of links on the pages that it leads to.
func (g *growth) Found() {
	if g.ended > 0 {
		g.grew++
	}
}

// Done notes that a URL of the host was requested and is no longer queued.
func (g *growth) Done() {
	g.grew *= 1 - 1./growthOf
	g.ended = g.ended*(1-1./growthOf) + 1
}

// Grows reports that the host's queue grows faster than it is processed, so that its final length
// cannot be estimated.
func (g *growth) Grows() bool { return g.ended > 0 && g.grew > g.ended }
