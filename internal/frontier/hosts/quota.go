package hosts

// quota decides which kind of work gets the next visit of a host. Three kinds share its visits:
// auxiliary requests, the pages of the crawl (new ones and those fetched before), and downloads
// that somebody requested. None may keep another waiting for ever. It is in memory and in the
// record of an evicted host; after a restart the sharing begins anew.
type quota struct {
	aux      bool // the last visit of the crawl was for auxiliary requests
	urgent   bool // auxiliary requests come before pages in any case
	download bool // a download came after that visit
	passed   int  // new URLs granted while pages that were due again were passed over
}

// ForAux reports whether the next visit is for auxiliary requests, if there are any. Auxiliary
// requests and pages alternate, except that urgent requests do not wait: reports of a site's
// updates count only from the moment when the site was asked.
func (t *quota) ForAux() bool { return !t.aux || t.urgent }

// ForCrawl reports whether the next visit is for the crawl, and not for a download.
func (t *quota) ForCrawl() bool { return t.download }

// TookVisit notes a visit of the crawl. One with auxiliary requests answers what was urgent.
func (t *quota) TookVisit(aux bool) {
	t.aux, t.download = aux, false
	t.urgent = t.urgent && !aux
}

// Hurry has auxiliary requests come before pages at the next visit.
func (t *quota) Hurry() { t.urgent = true }

// TookDownload notes a visit for a download.
func (t *quota) TookDownload() { t.download = true }

// againShare determines the part of a host's requests for pages that are due again while new URLs
// wait: one of againShare. A larger part would slow the crawl down. Without any, the first pages of
// the crawl and the links on them would grow old while the queue is not empty.
const againShare = 4

// ShareAgain is the number of pages due again in a visit of room URLs; due is how many such pages
// there are. Where visits have fewer than againShare URLs, one of againShare visits is for such
// pages.
func (t *quota) ShareAgain(room, due int) int {
	return min((room+t.passed)/againShare, due, room)
}

// TookPages notes what a visit contains. due says that pages were due to be fetched again.
func (t *quota) TookPages(due bool, fresh, again int) {
	if !due || again > 0 {
		t.passed = 0
	} else {
		t.passed += fresh
	}
}
