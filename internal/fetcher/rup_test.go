package fetcher

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

var (
	testCredentials = rup.Credentials{Email: "curtsy+token@crawler.example", Key: "a-secret-key"}
	formRegister    = rup.Request{Action: rup.Register, Preferences: rup.Preferences{Email: "curtsy+token@crawler.example", Latency: rup.Latency{N: 1, Unit: rup.Day}}}.Form()
	formSequence    = rup.Request{Action: rup.GetSequenceNumber, Credentials: testCredentials}.Form()
	formIndex       = rup.Request{Action: rup.GetIndex, Span: rup.Span{N: 1, Unit: rup.Day}}.Form()
)

// rupVisit is a visit with one auxiliary request to a RUP site with these rules in its robots.txt,
// or without one.
func rupVisit(path, form, rules string) crawl.Visit {
	r := crawl.Robots{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}
	if rules != "" {
		r = crawl.Robots{Origin: originH} // it is requested
	}
	return crawl.Visit{Host: "h.test", Robots: []crawl.Robots{r},
		Aux: []crawl.AuxRequest{{Kind: crawl.AuxRUP, URL: canon.URL("http://h.test" + path), Origin: originH, Hop: 1, Form: form}}}
}

// rupAnswer carries a visit out and returns the answer to its auxiliary request, and the reports
// that were published before.
func (d *desk) rupAnswer(v crawl.Visit) (m crawl.RUP, reports []crawl.Report, out crawl.Outcome) {
	d.t.Helper()
	id := d.grant(v)
	out = d.outcome(id)
	answered := false
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.Visit != id {
			continue
		}
		if len(e.Reports) > 0 && answered {
			d.t.Error("a report after the answer")
		}
		reports = append(reports, e.Reports...)
		for _, a := range e.Answers {
			if answered = true; a.Aux.Form != "" {
				d.t.Error("the form is told")
			}
			m = a.RUP
		}
	}
	if answered != (len(out.Done) == 1) {
		d.t.Errorf("answered %v, done %+v", answered, out.Done)
	}
	return m, reports, out
}

func page(lines string) string {
	return "<html><head><title>RUP</title></head><body><pre>\n" + lines + "\n</pre></body></html>"
}

func TestRUP(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		var robotsTxt string
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprint(w, robotsTxt)
				return
			}
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			got = append(got, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Content-Type")+" "+string(body))
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/rupinfo.txt":
				w.Header().Set("Cache-Control", "max-age=7200")
				fmt.Fprint(w, "RUP-CGI: /cgi\n")
			case "/large":
				fmt.Fprint(w, strings.Repeat("x", rup.MaxInfo+100))
			case "/moved":
				http.Redirect(w, r, "/rupinfo.txt", http.StatusFound)
			case "/away":
				http.Redirect(w, r, "http://other.test/rupinfo.txt", http.StatusFound)
			case "/key":
				fmt.Fprint(w, page("RegistrationKey: abc-123"))
			case "/number":
				fmt.Fprint(w, page("SequenceNumber=12"))
			case "/nothing":
				fmt.Fprint(w, page("Thank you."))
			case "/refused":
				w.WriteHeader(400)
				fmt.Fprintf(w, "not with %s, said in %s", string(testCredentials.Key), body)
			case "/busy":
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(503)
			case "/broken":
				w.WriteHeader(502)
			case "/report":
				fmt.Fprint(w, page("SequenceNumber: 0\nURLBase: http://h.test/\n\nNew[2026-01-02]: a, b&amp;c\nDelete[2026-01-03]: d\nChange: http://other.test/x, /e"))
			case "/stranger":
				fmt.Fprint(w, page("SequenceNumber: 0\nURLBase: http://other.test/\n\nNew[2026-01-02]: a\n"))
			default:
				http.NotFound(w, r)
			}
		})
		d := newDesk(t, 4)
		startFetcher(t, d, testSpec(4, addr), Options{Log: slog.New(slog.NewTextHandler(&failOnSecret{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		for _, tt := range []struct {
			name, path, form, rules string
			want                    crawl.RUP // Reason is only its beginning
			sent                    string
		}{
			{"info", "/rupinfo.txt", "", "", crawl.RUP{Status: 200, Body: []byte("RUP-CGI: /cgi\n"), Fresh: 2 * time.Hour}, "GET /rupinfo.txt  "},
			{"info moved", "/moved", "", "", crawl.RUP{Status: 200, Body: []byte("RUP-CGI: /cgi\n"), Fresh: 2 * time.Hour}, "GET /moved  |GET /rupinfo.txt  "},
			{"info elsewhere", "/away", "", "", crawl.RUP{Status: 302, Reason: "it redirects"}, "GET /away  "},
			{"no info", "/none", "", "", crawl.RUP{Status: 404, Reason: "RUP: 404"}, "GET /none  "},
			{"info too large", "/large", "", "", crawl.RUP{Status: 200, Body: []byte(strings.Repeat("x", rup.MaxInfo+1))}, "GET /large  "},
			{"robots", "/rupinfo.txt", "", "User-agent: *\nDisallow: /rup\n", crawl.RUP{Reason: "robots: line 2"}, ""},
			{"robots for the CGI", "/cgi-bin/rup?x=1", formRegister, "User-agent: *\nDisallow: /cgi-bin/\n", crawl.RUP{Reason: "robots: line 2"}, ""},
			{"register", "/key?a=b", formRegister, "", crawl.RUP{Status: 200, Key: "abc-123"}, "POST /key?a=b " + rup.FormType + " " + formRegister},
			{"register, no key", "/nothing", formRegister, "", crawl.RUP{Status: 200, Reason: rup.ErrMalformed.Error()}, "POST /nothing " + rup.FormType + " " + formRegister},
			{"sequence", "/number", formSequence, "", crawl.RUP{Status: 200, Sequence: 12}, "POST /number " + rup.FormType + " " + formSequence},
			{"refused", "/refused", formSequence, "", crawl.RUP{Status: 400, Reason: "RUP: 400 Bad Request: not with (RegistrationKey), said"}, "POST /refused " + rup.FormType + " " + formSequence},
			{"busy", "/busy", formSequence, "", crawl.RUP{Status: 503, Retry: true, RetryAfter: time.Minute, Reason: "RUP: 503"}, "POST /busy " + rup.FormType + " " + formSequence},
			{"broken", "/broken", formSequence, "", crawl.RUP{Status: 502, Retry: true, Reason: "RUP: 502"}, "POST /broken " + rup.FormType + " " + formSequence},
			{"redirected", "/moved", formSequence, "", crawl.RUP{Status: 302, Reason: "RUP: 302"}, "POST /moved " + rup.FormType + " " + formSequence},
			{"report", "/report", formIndex, "", crawl.RUP{Status: 200, Entries: 4, Refused: 1}, "POST /report " + rup.FormType + " " + formIndex},
			{"report of another", "/stranger", formIndex, "", crawl.RUP{Status: 200, Reason: rup.ErrSite.Error()}, "POST /stranger " + rup.FormType + " " + formIndex},
		} {
			func(t testing.TB) {
				mu.Lock()
				got, robotsTxt = nil, tt.rules
				mu.Unlock()
				m, reports, _ := d.rupAnswer(rupVisit(tt.path, tt.form, tt.rules))
				if !strings.HasPrefix(m.Reason, tt.want.Reason) || (m.Reason == "") != (tt.want.Reason == "") || strings.Contains(m.Reason, string(testCredentials.Key)) || strings.Contains(m.Reason, "token") {
					t.Errorf("reason %q, want %q", m.Reason, tt.want.Reason)
				}
				if len(m.Body) != len(tt.want.Body) {
					t.Errorf("%d bytes, want %d", len(m.Body), len(tt.want.Body))
				}
				if m.Reason = tt.want.Reason; !reflect.DeepEqual(m, tt.want) {
					t.Errorf("%.300v, want %.300v", fmt.Sprint(m), fmt.Sprint(tt.want))
				}
				mu.Lock()
				defer mu.Unlock()
				if sent := strings.Join(got, "|"); sent != tt.sent {
					t.Errorf("sent %q, want %q", sent, tt.sent)
				}
				if tt.name != "report" {
					if len(reports) > 0 {
						t.Errorf("reports %+v", reports)
					}
					return
				}
				var urls []string
				for _, r := range reports {
					if !r.Index || r.Origin != originH || r.Address != "" {
						t.Errorf("%+v", r)
					}
					for _, l := range r.Links {
						for _, u := range l.URLs {
							urls = append(urls, fmt.Sprint(u, l.Gone))
						}
					}
				}
				if want := "[http://h.test/afalse http://h.test/b&cfalse http://h.test/dtrue http://h.test/efalse]"; fmt.Sprint(urls) != want {
					t.Errorf("told %v, want %s", urls, want)
				}
			}(named{t, tt.name})
		}
	})
}

// failOnSecret is a log that must not contain a key or an address.
type failOnSecret struct{ t *testing.T }

func (f *failOnSecret) Write(p []byte) (int, error) {
	for _, secret := range []string{string(testCredentials.Key), "token@crawler", "abc-123"} {
		if strings.Contains(string(p), secret) {
			f.t.Errorf("logged: %s", p)
		}
	}
	return len(p), nil
}

// A report with as many paths as allowed is split into messages. A longer report is refused.
func TestRUPLargeReports(t *testing.T) {
	virtual(t, func(t *testing.T) {
		paths := func(n int) string {
			var b strings.Builder
			b.WriteString("SequenceNumber: 7\nURLBase: http://h.test/\n\n")
			for i := range n {
				fmt.Fprintf(&b, "Change[2026-01-02]: %s/%06d\n", strings.Repeat("d", 100), i)
			}
			return page(b.String())
		}
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			n := rup.MaxPaths
			if r.URL.Path == "/more" {
				n++
			}
			io.WriteString(w, paths(n))
		})
		d := newDesk(t, 4)
		startFetcher(t, d, testSpec(4, addr), Options{})
		m, reports, _ := d.rupAnswer(rupVisit("/all", formIndex, ""))
		if m.Reason != "" || m.Entries != rup.MaxPaths || len(reports) < 2 || len(reports) != reports[0].Parts {
			t.Errorf("%+v in %d reports", m, len(reports))
		}
		if m, _, _ := d.rupAnswer(rupVisit("/more", formIndex, "")); m.Status != 200 || m.Retry || m.Reason == "" {
			t.Errorf("one more than that: %+v", m)
		}
	})
}

// If a server closes the connection just when a POST arrives on it, the POST is sent only once.
func TestRUPPostsOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		ln, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		var mu sync.Mutex
		var methods []string
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					for br := bufio.NewReader(c); ; {
						r, err := http.ReadRequest(br)
						if err != nil {
							return
						}
						io.Copy(io.Discard, r.Body)
						mu.Lock()
						methods = append(methods, r.Method)
						mu.Unlock()
						if r.Method == http.MethodPost {
							return // without an answer
						}
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nRUP-CGI: /cgi\n")
					}
				}()
			}
		}()
		d := newDesk(t, 4)
		startFetcher(t, d, testSpec(4, ln.Addr().String()), Options{})
		v := rupVisit("/rupinfo.txt", "", "")
		v.Aux = append(v.Aux, rupVisit("/cgi", formRegister, "").Aux...)
		id := d.grant(v)
		out := d.outcome(id)
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(methods) != "[GET POST]" || len(out.Done) != 2 {
			t.Errorf("sent %v, outcome %+v", methods, out)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, e := range d.events {
			for _, a := range e.Answers {
				if a.Aux.URL == "http://h.test/cgi" && (!a.RUP.Retry || a.RUP.Status != 0) {
					t.Errorf("%+v", a.RUP)
				}
			}
		}
	})
}
