package dashboard

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
)

// perPage is how many rows of a list are on a page.
const perPage = 50

// maxField is how many characters of a field in a form are read.
const maxField = 300

// field is the value of a field in a form, in one line; the last of several.
func (r *request) field(name string) string {
	all := r.URL.Query()[name]
	if len(all) == 0 {
		return ""
	}
	return webtext.Short(strings.TrimSpace(webtext.Clean(all[len(all)-1])), maxField)
}

// pager leads through a list that has more rows than fit on a page.
type pager struct {
	Rows              int   // on this page
	From, To          int64 // of the rows that match, from 1
	Matched, Total    int64
	First, Prev, Next string // addresses; "": there is no such page
}

// listing collects the rows of one page from a list that is read from its beginning. It stores only
// that page.
type listing[T any] struct {
	Rows  []T
	Pager pager
	skip  int64
}

// list begins a listing for the requested page.
func list[T any](r *request) *listing[T] {
	n, err := strconv.ParseInt(r.field("from"), 10, 64)
	if err != nil || n < 1 {
		n = 1
	}
	return &listing[T]{skip: n - 1}
}

// count counts a row, and reports whether it is on the page.
func (l *listing[T]) count(matches bool) bool {
	l.Pager.Total++
	if !matches {
		return false
	}
	l.Pager.Matched++
	return l.Pager.Matched > l.skip && l.Pager.Matched-l.skip <= perPage
}

// done fills in the pager when all rows have been counted.
func (l *listing[T]) done(r *request) {
	p := &l.Pager
	p.Rows = len(l.Rows)
	p.From, p.To = l.skip+1, l.skip+int64(len(l.Rows))
	at := func(from int64) string {
		q := url.Values{}
		for name, all := range r.URL.Query() {
			if name != "from" && len(all) > 0 && all[len(all)-1] != "" {
				q.Set(name, r.field(name))
			}
		}
		if from > 1 {
			q.Set("from", strconv.FormatInt(from, 10))
		}
		if len(q) == 0 {
			return r.URL.Path
		}
		return r.URL.Path + "?" + q.Encode()
	}
	if l.skip > 0 {
		p.First = at(1)
		if l.skip > perPage && p.Rows > 0 {
			p.Prev = at(l.skip + 1 - perPage)
		}
	}
	if p.Rows > 0 && p.To < p.Matched {
		p.Next = at(p.To + 1)
	}
}

// listProblem is the problem of a list that cannot be read. Its cause may be the cursor or the
// pattern in the address.
func listProblem(err error, cursor, pattern string) error {
	switch {
	case err == nil, errors.Is(err, ask.ErrIncomplete), errors.Is(err, ask.ErrNobody),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case cursor == "" && !strings.ContainsAny(pattern, `*?[\\`):
		return err
	}
	return web.Wrong("The pattern or the position in the list is not valid. Start from the beginning of the list.")
}
