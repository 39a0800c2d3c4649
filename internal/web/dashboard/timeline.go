package dashboard

import (
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// requestsShown is how many requests of a host are on a page.
const requestsShown = 40

// timelineView shows the requests to a host as drawings and as a table.
//
// The first drawing has a row for each request. A row begins at the end of the request before:
// first comes the required pause, then the request itself as a bar. A bar that begins within the
// pause was early. The second drawing has the latest requests in one row over time.
type timelineView struct {
	Rows    []requestRow // oldest first
	Early   int
	Least   string   // that any of them waited beyond its delay; "": not known
	Ticks   []string // of the pictures with a row for each request, from left to right
	Height  float64  // of that picture
	Strip   strip
	Unknown []crawl.Unknown
	Older   string // address of the requests before; "": there are none
}

// requestRow is a request in the table, and its row in the drawing.
type requestRow struct {
	crawl.Request
	N      int
	Waited float64 // seconds since the end of the request before
	// There is a request before it whose end is known.
	After bool
	Early bool // it waited for less than its delay
	Class string
	// In the drawing: the distance of the row from the top, the end of the required pause, and the
	// begin and width of the bar.
	Y, Delay, X, W float64
}

// strip is the latest requests in one row.
type strip struct {
	Bars     []stripBar
	From, To time.Time
}

// stripBar is a request in a strip, and the required pause before it.
type stripBar struct {
	Class              string
	X, W               float64
	DelayX, DelayWidth float64
}

const (
	drawWidth = 1000.0 // of a drawing, in its own units
	rowHeight = 12.0
	barLeast  = 2.5 // a bar is at least so wide
	barFrom   = 0.5 // of the width at most is delay, in the row with the longest
)

// earlyBy is how many seconds rounding may take from a pause: times are stored to the microsecond.
const earlyBy = 2e-6

// drawTimeline makes the view of a timeline, which may have one request more than is shown.
func drawTimeline(t crawl.Timeline) timelineView {
	v := timelineView{Unknown: t.Unknown}
	if n := len(v.Unknown); n > requestsShown {
		v.Unknown = v.Unknown[n-requestsShown:]
	}
	if len(t.Requests) == 0 {
		return v
	}
	first := max(0, len(t.Requests)-requestsShown)
	if t.More || first > 0 {
		v.Older = "/host/" + url.PathEscape(t.Host) + "?before=" + url.QueryEscape(t.Requests[first].Start.UTC().Format(time.RFC3339Nano)) + "#timeline"
	}
	least := math.Inf(1)
	for i := first; i < len(t.Requests); i++ {
		row := requestRow{Request: t.Requests[i], N: i - first + 1, Class: "sent"}
		if i > 0 && !t.Requests[i-1].Cut {
			row.After, row.Waited = true, row.Start.Sub(t.Requests[i-1].End).Seconds()
			row.Early = row.Waited < row.BoundS-earlyBy
			least = min(least, row.Waited-row.BoundS)
		}
		switch {
		case row.Early:
			row.Class = "early"
			v.Early++
		case row.Unsent:
			row.Class = "unsent"
		}
		v.Rows = append(v.Rows, row)
	}
	if !math.IsInf(least, 1) {
		v.Least = precise(max(least, 0))
	}
	v.place()
	v.Strip = drawStrip(v.Rows)
	return v
}

// took is how many seconds a request took; 0 means unknown.
func took(r *crawl.Request) float64 {
	if r.Cut {
		return 0
	}
	return max(r.End.Sub(r.Start).Seconds(), 0)
}

// Took is how many seconds the request took.
func (r *requestRow) Took() float64 { return took(&r.Request) }

// place sets the positions of the requests in the drawing. The longest required pause takes half of
// its width, so that longer waits are visible. Bars that begin beyond the drawing are at its right
// end.
func (v *timelineView) place() {
	scale := 0.0
	for i := range v.Rows {
		r := &v.Rows[i]
		scale = max(scale, r.BoundS/barFrom)
	}
	if scale == 0 { // there is no delay: as wide as what is there
		for i := range v.Rows {
			r := &v.Rows[i]
			scale = max(scale, r.Waited+r.Took())
		}
	}
	if scale <= 0 {
		scale = 1
	}
	for i := range 5 {
		v.Ticks = append(v.Ticks, precise(scale*float64(i)/4))
	}
	v.Ticks[4] += " or later"
	x := func(s float64) float64 { return tenth(drawWidth * min(max(s/scale, 0), 1)) }
	for i := range v.Rows {
		r := &v.Rows[i]
		r.Y, r.Delay = rowHeight*float64(i)+2, x(r.BoundS)
		if !r.After {
			continue
		}
		r.X = min(x(r.Waited), drawWidth-barLeast)
		r.W = tenth(max(x(r.Waited+r.Took())-r.X, barLeast))
	}
	v.Height = rowHeight*float64(len(v.Rows)) + 2
}

// drawStrip draws the latest requests over time, back to a pause that is so long that the requests
// after it would be a thin line.
func drawStrip(rows []requestRow) (s strip) {
	from := len(rows) - 1
	for ; from > 0; from-- {
		if r := &rows[from]; !r.After || r.Waited > 10+5*r.BoundS {
			break
		}
	}
	rows = rows[from:]
	if len(rows) < 2 {
		return s
	}
	last := &rows[len(rows)-1]
	s.From, s.To = rows[0].Start, last.End
	if last.Cut {
		s.To = last.Start
	}
	span := s.To.Sub(s.From).Seconds()
	if span <= 0 {
		return strip{}
	}
	x := func(at time.Time) float64 { return tenth(drawWidth * min(max(at.Sub(s.From).Seconds()/span, 0), 1)) }
	for i := range rows {
		r := &rows[i]
		b := stripBar{Class: r.Class, X: min(x(r.Start), drawWidth-barLeast)}
		b.W = tenth(max(drawWidth*r.Took()/span, barLeast))
		if i > 0 && r.After {
			end := rows[i-1].End
			b.DelayX = x(end)
			b.DelayWidth = tenth(max(x(end.Add(time.Duration(r.BoundS*float64(time.Second))))-b.DelayX, 0))
		}
		s.Bars = append(s.Bars, b)
	}
	return s
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }

// precise writes seconds so that small differences are visible: to the millisecond, or to the
// microsecond below ten milliseconds.
func precise(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case math.Abs(s) < 0.01:
		return fmt.Sprintf("%.3f ms", s*1000)
	case math.Abs(s) < 1:
		return fmt.Sprintf("%.0f ms", s*1000)
	case math.Abs(s) < 600:
		return fmt.Sprintf("%.3f s", s)
	}
	return seconds(s)
}
