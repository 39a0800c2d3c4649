package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// chart is lines over time, as the template "chart" draws them. The labels of its axes are text of
// the page next to the drawing, at equal distances, so that they stay readable on a small screen.
type chart struct {
	Title, Unit string
	Summary     string   // what it shows, in a sentence
	X           []string // from left to right
	Y           []string // from the top down
	Lines       []chartLine
}

// chartLine is a line of a chart, and its last value as text, or its highest.
type chartLine struct{ Name, Class, Path, Last string }

// curve is the data of a line: a value for each time; NaN if there is none.
type curve struct {
	Name, Class string
	V           []float64
}

// The size of the drawing of a chart, in its own units. The page stretches it to the available
// space.
const (
	chartWidth, chartHeight = 1000.0, 200.0
	chartRows, chartColumns = 4, 4 // into which it is divided
)

// draw makes a chart of curves over times, which are in order. With highest, it shows the highest
// value of each instead of the last. write writes a value. The result is false if there is nothing
// to draw yet.
func draw(title, unit string, highest bool, times []time.Time, write func(float64) string, curves ...curve) (chart, bool) {
	c := chart{Title: title, Unit: unit}
	if len(times) < 2 || !times[len(times)-1].After(times[0]) {
		return c, false
	}
	from, span := times[0], times[len(times)-1].Sub(times[0])
	most, any := 0.0, false
	for _, line := range curves {
		for _, v := range line.V {
			if !math.IsNaN(v) {
				most, any = max(most, v), true
			}
		}
	}
	if !any {
		return c, false
	}
	step := niceStep(most / chartRows)
	top := step * chartRows
	for i := chartRows; i >= 0; i-- {
		c.Y = append(c.Y, write(step*float64(i)))
	}
	format := timeFormat(span)
	for i := range chartColumns + 1 {
		c.X = append(c.X, from.Add(span*time.Duration(i)/chartColumns).Local().Format(format))
	}
	zone, _ := times[len(times)-1].Local().Zone()
	sum := fmt.Sprintf("%s from %s to %s %s.", title, c.X[0], c.X[chartColumns], zone)
	for _, line := range curves {
		l := chartLine{Name: line.Name, Class: line.Class, Path: linePath(times, line.V, from, span, top), Last: "–"}
		if n := len(line.V); n > 0 && !math.IsNaN(line.V[n-1]) {
			l.Last = write(line.V[n-1])
		}
		most := write(slices.MaxFunc(line.V, byValue))
		sum += fmt.Sprintf(" %s: %s at the end, %s at most.", line.Name, l.Last, most)
		if highest {
			l.Last = "peak " + most
		}
		c.Lines = append(c.Lines, l)
	}
	c.Summary = sum
	return c, true
}

// byValue orders values, missing ones first.
func byValue(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a) || a < b:
		return -1
	case math.IsNaN(b) || a > b:
		return 1
	}
	return 0
}

// linePath is a line in the form of SVG. It is interrupted where there is no value.
func linePath(times []time.Time, values []float64, from time.Time, span time.Duration, top float64) string {
	var b strings.Builder
	move := byte('M')
	for i, v := range values {
		if math.IsNaN(v) {
			move = 'M'
			continue
		}
		x := chartWidth * float64(times[i].Sub(from)) / float64(span)
		fmt.Fprintf(&b, "%c%.1f %.1f", move, x, chartHeight*(1-v/top))
		move = 'L'
	}
	return b.String()
}

// niceStep is the least product of 1, 2, 2.5 or 5 and a power of ten that is not below least.
func niceStep(least float64) float64 {
	if least <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, n := range []float64{1, 2, 2.5, 5, 10} {
		if n*power >= least*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// timeFormat is the format of times in a span of that length.
func timeFormat(span time.Duration) string {
	switch {
	case span < 10*time.Minute:
		return "15:04:05"
	case span < 20*time.Hour:
		return "15:04"
	case span < 10*24*time.Hour:
		return "2 Jan 15:04"
	}
	return "2 Jan 2006"
}
