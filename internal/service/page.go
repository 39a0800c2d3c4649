package service

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// pagePolicy allows the page to load and run nothing.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageData is what page.html shows, the status page of a process without a dashboard.
type pageData struct {
	Title    string
	Now      time.Time
	Ready    string
	Profiles bool
}

// Count is the number of URLs with one reason.
type Count struct {
	Reason string
	N      int64
}

// Reasons lists the reasons in a status, the most frequent first.
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

// TypeCount is the number of searchable pages of one type, as --types names it, or in one language.
type TypeCount struct {
	Type string
	N    int64
}

// PageTypes lists the types of the searchable pages, the most frequent first.
func PageTypes(s crawl.Status) []TypeCount {
	return sumCounts(s, func(x *crawl.IndexerStatus) map[string]int64 { return x.Types })
}

// PageLangs lists the languages of the searchable pages, the most frequent first.
func PageLangs(s crawl.Status) []TypeCount {
	return sumCounts(s, func(x *crawl.IndexerStatus) map[string]int64 { return x.Langs })
}

func sumCounts(s crawl.Status, of func(*crawl.IndexerStatus) map[string]int64) (list []TypeCount) {
	sum := map[string]int64{}
	for i := range s.Indexers {
		for name, n := range of(&s.Indexers[i]) {
			sum[name] += n
		}
	}
	for name, n := range sum {
		list = append(list, TypeCount{name, n})
	}
	slices.SortFunc(list, func(a, b TypeCount) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Type, b.Type))
	})
	return list
}

// ETA says in words how long the queue will take.
func ETA(s crawl.Status) string {
	switch {
	case s.Queued+s.InFlight == 0:
		return "nothing remains"
	case s.ETA == nil && s.AtLeast > 0:
		return "at least " + Span(s.AtLeast)
	case s.ETA == nil:
		return "unknown"
	}
	return Span(*s.ETA)
}

// Span is a time in seconds in words.
func Span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
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
	d := pageData{Title: a.o.Title, Now: time.Now(), Ready: "ready", Profiles: a.Loopback()}
	if err := a.o.Ready(r.Context()); err != nil {
		d.Ready = err.Error()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	if err := pageTemplate.Execute(w, d); err != nil {
		a.o.Log.Debug("status page", "err", err)
	}
}
