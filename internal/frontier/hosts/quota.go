package hosts

// quota says whose turn it is on a host. Three kinds of work share its visits: errands, the pages
// of the crawl (new ones and those fetched before), and downloads that somebody asked for. None may
// keep another waiting for ever. It is kept in memory, and while a host rests: after a restart the
// sharing begins anew.
type quota struct {
	aux      bool // the last visit of the crawl was for errands
	Urgent   bool // errands come before pages all the same
	download bool // a download came after that visit
	passed   int  // new URLs granted while pages due to be fetched again were passed over
}

// ForAux reports whether the next visit is for errands, should there be any. Errands and pages
// take turns; urgent errands do not wait for theirs: what a site tells of its updates counts from
// the moment it is asked.
func (t *quota) ForAux() bool { return !t.aux || t.Urgent }

// ForCrawl reports whether the next visit is the crawl's, and not a download's.
func (t *quota) ForCrawl() bool { return t.download }

// TookVisit notes a visit of the crawl.
func (t *quota) TookVisit(aux bool) { t.aux, t.download = aux, false }

// TookDownload notes a visit for a download.
func (t *quota) TookDownload() { t.download = true }

// againShare is the part of a host's requests that pages to be fetched again have while new URLs
// wait: one of so many. More would hold the crawl up. None would let the pages it began with, and
// the links on them, grow old as long as the queue is not empty.
const againShare = 4

// ShareAgain is how much of a visit of room URLs is kept for pages to be fetched again, of which so
// many are due. Where a visit has room for fewer than againShare they have one visit of as many.
func (t *quota) ShareAgain(room, due int) int {
	return min((room+t.passed)/againShare, due, room)
}

// TookPages notes what a visit was filled with. due says that pages were due to be fetched again.
func (t *quota) TookPages(due bool, fresh, again int) {
	if !due || again > 0 {
		t.passed = 0
	} else {
		t.passed += fresh
	}
}
