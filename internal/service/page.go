package service

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

//go:embed page.html
var pageHTML string

// again loads the page anew every five seconds, unless somebody is writing into the search box.
// Without scripts a meta element does so all the same.
const again = `setInterval(() => { const q = document.querySelector('input'); if (q !== document.activeElement && !q.value) location.reload() }, 5000)`

var pageTemplate = template.Must(template.New("page").Parse(strings.Replace(pageHTML, "AGAIN", again, 1)))

// pagePolicy lets the page load nothing and run nothing but that.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(again))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// pageData is what page.html shows.
type pageData struct {
	Title   string
	Now     time.Time
	Ready   string
	Status  *crawl.Status
	ETA     string
	Reasons []Count
	Problem string
	Search  bool // there is a /search
}

// Count is how many URLs ended for one reason.
type Count struct {
	Reason string
	N      int64
}

// Reasons lists the reasons of a status, the most frequent first.
func Reasons(s crawl.Status) []Count {
	var cs []Count
	for r, n := range s.ByReason {
		if n != 0 {
			cs = append(cs, Count{r, n})
		}
	}
	slices.SortFunc(cs, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Reason, b.Reason))
	})
	return cs
}

// ETA says in words how long the queue is going to take.
func ETA(s crawl.Status) string {
	switch {
	case s.Queued+s.InFlight == 0:
		return "nothing left"
	case s.ETA == nil:
		return "unknown"
	}
	d := time.Duration(*s.ETA * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()+0.5))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

func (a *Admin) page(w http.ResponseWriter, r *http.Request) {
	d := pageData{Title: a.o.Title, Now: time.Now(), Ready: "ready", Search: a.searches()}
	if err := a.o.Ready(r.Context()); err != nil {
		d.Ready = err.Error()
	}
	if a.o.Status != nil {
		s, err := a.o.Status(r.Context())
		if err != nil {
			d.Problem = err.Error()
		} else {
			d.Status, d.ETA, d.Reasons = &s, ETA(s), Reasons(s)
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	if err := pageTemplate.Execute(w, d); err != nil {
		a.o.Log.Debug("status page", "err", err)
	}
}
