package hosts

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Visit is an outstanding visit. Grants are not logged: after an unclean take-over the new owner
// waits until every older visit has ended or its lease has expired.
type Visit struct {
	ID    crawl.VisitID
	Host  *Host
	URLs  int
	List  []InVisit
	Since time.Time // when this process granted it
	Until time.Time

	Queued int // number of its URLs that were queued when it was granted
}

// InVisit is a URL of an outstanding visit that is still Queued.
type InVisit struct {
	URL   canon.URL
	Order uint64
}
