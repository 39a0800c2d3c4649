package search

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/dustin/go-humanize"
)

//go:embed search.html
var pageHTML string

//go:embed style.css
var styleCSS string

// pageWith is the page with its style in it, so that one request gets all of it. The policy lets
// the page use this style and send its form, and nothing else.
func pageWith(bar web.Bar) (page *template.Template, policy string) {
	style := styleCSS + bar.Style
	page = template.Must(template.New("search").Parse(strings.Replace(pageHTML, "STYLE", style, 1)))
	sum := sha256.Sum256([]byte(style))
	policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	if bar.Icon != "" {
		policy += "; img-src 'self'"
	}
	return page, policy
}

// howToAsk is the query language as rows of a table, with the lines that do not fit into one.
var howToAsk, moreToAsk = func() (rows []example, more []string) {
	const column = 23 // where the second begins
	for line := range strings.Lines(query.Help) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > column && strings.HasSuffix(line[:column], "  ") {
			rows = append(rows, example{strings.Split(strings.TrimSpace(line[:column]), "  "), line[column:]})
		} else {
			more = append(more, line)
		}
	}
	return rows, more
}()

// html answers /search.
func (w *Web) html(rw http.ResponseWriter, r *http.Request) {
	var fields query.Schema
	var silent *web.Problem
	end := w.semaphore.End()
	if r.URL.RawQuery != "" {
		fields, silent = w.fields(r.Context(), end, r.URL.RawQuery)
	}
	p, bad := parse(r.URL.RawQuery, false, fields)
	if silent != nil {
		bad = silent
	}
	v := view{fields: fields, Name: w.o.Name, Home: w.o.Home, Bar: w.o.Bar, MaxQuery: maxQuery, Params: p, HowToAsk: howToAsk, MoreToAsk: moreToAsk}
	if bad == nil && (p.Q != "" || p.Like != "") {
		var a Answer
		if a, bad = w.answer(r.Context(), end, p, fields, p.languages(r.Header), "/search"); bad == nil {
			v.show(&a)
			w.asked(p, fields, &a, &v)
			a.head(rw.Header())
		}
	}
	status := http.StatusOK
	if bad != nil {
		v.Problem, status = bad, bad.Status
		bad.Head(rw.Header())
	}
	v.fill()
	var body bytes.Buffer
	if err := w.look.Execute(&body, v); err != nil {
		w.o.Log.Error("the page cannot be written", "err", err)
		http.Error(rw, "the page cannot be written; the server's log has the reason", http.StatusInternalServerError)
		return
	}
	h := rw.Header()
	h.Set("Content-Security-Policy", w.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Language")
	rw.WriteHeader(status)
	_, _ = rw.Write(body.Bytes())
}

// count writes a number with its unit.
func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return humanize.Comma(n) + " " + what
}
