package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// offered returns the nested files that were published to a desk, with their depths.
func offered(d *desk) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, ev := range d.events {
		for _, e := range ev.Aux {
			if e.Kind == crawl.AuxNested {
				all = append(all, fmt.Sprintf("%s %d", e.URL.Path(), e.Hop))
			}
		}
	}
	return strings.Join(all, ", ")
}

// A data.txt that is read offers the files that are nested in it, and requests none of them itself.
func TestDataTxtOffersNested(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := dataSite(t, "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "- path: iris/data.csv\n- path: cars/\n- path: http://x.test/y/\n- path: top.csv\n")
			for i := range 100 {
				fmt.Fprintf(w, "- path: many/%d/\n", i)
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := visitTo(t, "http://h.test/a")
		v.Robots = []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), ProbeData: true}}
		d.outcome(d.grant(v))
		if got := asked(); got != "/robots.txt /data.txt /a" {
			t.Errorf("asked for %s", got)
		}
		got := offered(d)
		if n := strings.Count(got, ",") + 1; n != 100 || !strings.HasPrefix(got, "/iris/data.txt 1, /cars/data.txt 1, /many/0/data.txt 1") {
			t.Errorf("%d offered: %s", n, got)
		}
	})
}

// A nested file is requested under the rules of its origin only. Its page goes where that of its
// origin's own file goes.
func TestNestedAuxRequest(t *testing.T) {
	virtual(t, func(t *testing.T) {
		pages := map[string]func(w http.ResponseWriter){
			"/iris/data.txt": func(w http.ResponseWriter) { io.WriteString(w, "file: data.csv\nname: iris\n") },
			"/deep/data.txt": func(w http.ResponseWriter) { io.WriteString(w, "- path: er/\n- path: ../other/x.csv\n") },
			"/last/data.txt": func(w http.ResponseWriter) { io.WriteString(w, "- path: more/\n") },
			"/away/data.txt": func(w http.ResponseWriter) { w.Header().Set("Location", "http://x.test/data.txt"); w.WriteHeader(302) },
			"/port/data.txt": func(w http.ResponseWriter) {
				w.Header().Set("Location", "http://h.test:81/data.txt")
				w.WriteHeader(302)
			},
			"/moved/data.txt": func(w http.ResponseWriter) {
				w.Header().Set("Location", "/iris/data.txt")
				w.WriteHeader(302)
			},
		}
		addr, asked := dataSite(t, "User-agent: *\nDisallow: /closed\n", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if f := pages[r.URL.Path]; f != nil {
				f(w)
				return
			}
			w.WriteHeader(404)
		})
		d := newDesk(t, 2)
		startFetcher(t, d, testSpec(2, addr), Options{})
		o := canon.Origin{Scheme: "http", Host: "h.test", Port: 80}
		v := crawl.Visit{Host: "h.test", Shard: crawl.ShardOf("h.test", 2)}
		for _, e := range []struct {
			dir   string
			depth int
		}{{"iris", 1}, {"deep", 2}, {"last", 3}, {"away", 1}, {"port", 1}, {"moved", 1}, {"closed", 1}, {"none", 1}} {
			v.Aux = append(v.Aux, crawl.AuxRequest{
				Kind: crawl.AuxNested, URL: mustURL(t, "http://h.test/"+e.dir+"/data.txt"), Origin: o, Hop: e.depth, ReplyShard: v.Shard,
			})
		}
		out := d.outcome(d.grant(v))
		probes := probesOf(d)
		for end := time.Now().Add(ample); len(probes) < len(v.Aux) && time.Now().Before(end); probes = probesOf(d) {
			time.Sleep(time.Millisecond) // their log is read separately
		}
		var states []string
		for _, p := range probes {
			states = append(states, p.State.String())
		}
		if got := strings.Join(states, " "); got != "read read read absent absent read refused absent" || len(out.Done) != len(v.Aux) {
			t.Errorf("%s, %+v", got, out)
		}
		want := "/robots.txt /iris/data.txt /deep/data.txt /last/data.txt /away/data.txt /port/data.txt /moved/data.txt /iris/data.txt /none/data.txt"
		if got := asked(); got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
		if got, want := offered(d), "/deep/er/data.txt 3, /other/data.txt 3"; got != want {
			t.Errorf("offered %s, want %s", got, want)
		}
		for end := time.Now().Add(ample); pagesTold(d) < len(v.Aux) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		var reported []string
		for _, p := range d.pages {
			reported = append(reported, fmt.Sprintf("%s %s %s", p.Asked.Path(), p.URL.Path(), p.Deleted))
			if p.Kind != crawl.KindData || p.Origin != o {
				t.Errorf("%+v", p)
			}
		}
		wantTold := "[/iris/data.txt /iris/data.txt  /deep/data.txt /deep/data.txt  /last/data.txt /last/data.txt  " +
			"/away/data.txt /away/data.txt redirects /port/data.txt /port/data.txt redirects /moved/data.txt /iris/data.txt  " +
			"/closed/data.txt /closed/data.txt robots /none/data.txt /none/data.txt http-4xx]"
		if fmt.Sprint(reported) != wantTold {
			t.Errorf("told\n%s, want\n%s", reported, wantTold)
		}
	})
}

func pagesTold(d *desk) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pages)
}
