package web

import (
	"html/template"
	"time"
)

// Clock is a time as people read it, with its zone, and as programs do. It takes a time.Time or a
// *time.Time; if there is none it is "never".
func Clock(at any) template.HTML {
	t := timeOf(at)
	if t.IsZero() {
		return `<span class="soft">never</span>`
	}
	return timeTag(t, t.Format("2 Jan 2006 15:04:05 MST"), "")
}

// Moment is a time in few characters: today's times have no date.
func Moment(at any) template.HTML {
	t := timeOf(at)
	if t.IsZero() {
		return `<span class="soft">never</span>`
	}
	format := "2 Jan 2006"
	switch age := time.Since(t).Abs(); {
	case t.Format(time.DateOnly) == time.Now().Format(time.DateOnly):
		format = "15:04:05"
	case age < 200*24*time.Hour:
		format = "2 Jan 15:04"
	}
	return timeTag(t, t.Format(format), t.Format("2 Jan 2006 15:04:05 MST"))
}

func timeOf(at any) (t time.Time) {
	switch at := at.(type) {
	case time.Time:
		t = at
	case *time.Time:
		if at != nil {
			t = *at
		}
	}
	return t.Local()
}

// timeTag is a time as it is shown, with a longer form for a pointer that rests on it.
func timeTag(t time.Time, shown, title string) template.HTML {
	if title != "" {
		title = `" title="` + template.HTMLEscapeString(title)
	}
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + title + `">` + template.HTMLEscapeString(shown) + `</time>`)
}
