package hosts

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Visit is an outstanding visit. Granting is not logged: after an unclean take-over the new owner
// waits until every older visit has ended or died.
type Visit struct {
	ID    crawl.VisitID
	Host  *Host
	URLs  int
	List  []InVisit
	Since time.Time // when it was granted, here
	Until time.Time

	Queued int // of urls, those that list had when it was granted
}

// InVisit is a URL of an outstanding visit that is still Queued.
type InVisit struct {
	URL   canon.URL
	Order uint64
}
