package data

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/download"
)

// sets are a catalogue with these datasets and nothing else.
type sets struct {
	all    []crawl.DatasetInfo
	unread [][2]string // document and reason
}

func (s sets) DatasetsAndUnread(ctx context.Context, each func(crawl.DatasetInfo) error, unread func(document, why string)) error {
	for _, u := range s.unread {
		unread(u[0], u[1])
	}
	return s.Datasets(ctx, each)
}

func (s sets) Datasets(_ context.Context, each func(crawl.DatasetInfo) error) error {
	for _, d := range s.all {
		if err := each(d); err != nil {
			return err
		}
	}
	return nil
}

func TestDatasetsWanted(t *testing.T) {
	by := "CC-BY-4.0"
	from := sets{all: []crawl.DatasetInfo{
		{ID: "1", Title: "Rain in Freiburg", SPDX: &by, LicenseByHost: true}, {ID: "2", Keywords: []string{"RAIN"}, License: "own"},
		{ID: "3", Title: "Snow", Columns: []crawl.DatasetColumn{{Name: "rain_mm"}}, SPDX: &by, LicenseByHost: true},
		{ID: "4", Title: "By a stranger's word", SPDX: &by},
	}}
	for _, c := range []struct {
		licenses, words, want string
	}{
		{"", "", "1 2 3 4"}, {"", "rain", "1 2 3"}, {"", "rain freiburg", "1"}, {"cc-by-4.0", "", "1 3"}, {"CC BY 4.0", "snow", "3"},
		{"unknown", "", "2 4"}, {"unknown,CC-BY-4.0", "", "1 2 3 4"}, {"MIT", "", ""}, {"", "hail", ""},
	} {
		w := wanted{licenses: strings.FieldsFunc(c.licenses, func(r rune) bool { return r == ',' })}
		var got []string
		err := w.datasets(t.Context(), from, strings.Fields(c.words), func(d crawl.DatasetInfo) error {
			got = append(got, d.ID)
			return nil
		})
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q %q: %v, %v, want %s", c.licenses, c.words, got, err, c.want)
		}
	}
	w := wanted{licenses: []string{"free"}}
	if err := w.datasets(t.Context(), from, nil, nil); err == nil || !strings.Contains(err.Error(), "CC-BY-4.0") {
		t.Errorf("a licence nobody knows: %v", err)
	}
}

// Documents that could not be read whole are named, once each and up to a limit.
func TestDatasetsUnread(t *testing.T) {
	const why = "JSON: one entry of 3 could not be read: \"x\" where a comma should be at byte 456"
	from := sets{unread: [][2]string{{"https://b.example/data.json", why}, {"https://a.example/data.json", why}, {"https://b.example/data.json", why}}}
	list := func() string {
		var w wanted
		var out strings.Builder
		if err := w.datasets(t.Context(), from, nil, nil); err != nil {
			t.Fatal(err)
		}
		w.print(&out)
		return out.String()
	}
	if got, want := list(), "https://a.example/data.json could not be read whole: "+why+"\nhttps://b.example/data.json could not be read whole: "+why+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	from.unread = nil
	for i := range maxUnread + 2 {
		from.unread = append(from.unread, [2]string{fmt.Sprintf("https://%d.example/", i), why})
	}
	if got := list(); strings.Count(got, "\n") != maxUnread+1 || !strings.Contains(got, "and 2 more documents could not be read whole") {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}

// If a site describes more datasets than its limit, the command reports that some are left out.
func TestDatasetsLeftOutAreTold(t *testing.T) {
	from := sets{}
	for i := range 12 {
		from.all = append(from.all, crawl.DatasetInfo{ID: fmt.Sprint(i), Sources: []crawl.DatasetSource{{Document: fmt.Sprintf("https://d.example/%02d", i), LeftOut: 7}, {Document: "https://e.example/"}}})
	}
	var w wanted
	var out strings.Builder
	if err := w.datasets(t.Context(), from, []string{"none"}, nil); err != nil {
		t.Fatal(err)
	}
	w.print(&out)
	if got := out.String(); strings.Count(got, "(at least 7 are left out)") != 10 || !strings.Contains(got, "https://d.example/00 describes") || !strings.HasSuffix(got, "and 2 more documents\n") {
		t.Errorf("%s", got)
	}
}

func TestDatasetsChosen(t *testing.T) {
	by := "CC-BY-4.0"
	from := sets{all: []crawl.DatasetInfo{
		{ID: "aaaa11112222", Name: "rain.csv", SPDX: &by, LicenseByHost: true}, {ID: "aaaa11113333", Title: "Snow", License: "ask us"}, {ID: "bbbb00000000"}, {ID: "aaaa1111"},
		{ID: "dddd00000000", SPDX: &by, Provenance: map[string]string{"license": "https://a.example/x"}},
	}}
	for _, c := range []struct{ licenses, ids, want, err string }{
		{"", "aaaa11112222", "aaaa11112222", ""}, {"", "AAAA11112222", "aaaa11112222", ""}, {"", "bbbb bbbb00 aaaa11112", "bbbb00000000 aaaa11112222", ""},
		{"", "aaaa1111", "aaaa1111", ""}, // one whole ID that others begin with
		{"", "aaaa111", "", "\n  aaaa11113333  Snow"}, {"", "bbb", "", "to list all datasets: curtsy datasets"}, {"", "cccc", "", "to list all datasets: curtsy datasets"},
		{"", "rain.csv", "", "the dataset of that name has the ID aaaa11112222"}, {"", "Snow", "", "aaaa11113333"},
		{"CC-BY-4.0", "aaaa11112222", "aaaa11112222", ""}, {"MIT", "aaaa11112222", "", "aaaa11112222 is under CC-BY-4.0, which --license MIT excludes"},
		{"CC-BY-4.0", "dddd", "", "only https://a.example/x states that dddd00000000 is under CC-BY-4.0"}, {"unknown", "dddd", "dddd00000000", ""}, {"", "dddd", "dddd00000000", ""},
		{"MIT", "aaaa11113333", "", `("ask us")`}, {"MIT", "bbbb", "", "no stated licence"}, {"unknown", "bbbb", "bbbb00000000", ""}, {"free", "bbbb", "", "SPDX"},
	} {
		w := wanted{licenses: strings.Fields(c.licenses)}
		chosen, err := w.choose(t.Context(), from, strings.Fields(c.ids))
		var got []string
		for _, d := range chosen {
			got = append(got, d.ID)
		}
		if strings.Join(got, " ") != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s %s: %v, %v", c.licenses, c.ids, got, err)
		}
	}
}

func TestDownloadText(t *testing.T) {
	p := download.Progress{Files: 3, Over: 1, Bytes: 30 << 20, Name: "rain\x1b[2J of may.csv", Have: 12 << 20, Of: 40 << 20}
	if got := downloadText(p, 3<<20); got != "rain[2J of may.csv: 12 MiB of 40 MiB · 1 of 3 files · 3.0 MiB/s" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		left    int64
		unknown int
		rate    float64
		want    string
	}{
		{6 << 30, 0, 3 << 20, " · 6.0 GiB left, 34 min"}, {6 << 30, 12, 3 << 20, " · 6.0 GiB and 12 files left, 34 min"}, {0, 1, 3 << 20, " · 1 file left"},
		{10 << 20, 0, 0, " · 10 MiB left"}, {1, 0, 3 << 20, " · 1 B left, 1 s"}, {59, 0, 1, " · 59 B left, 59 s"}, {7200, 0, 1, " · 7.0 KiB left, 2 h"},
		{1 << 62, 0, 1, " · 4.0 EiB left, 999 days"}, {86400 * 3, 0, 1, " · 253 KiB left, 3 days"}, {0, 0, 1, ""},
	} {
		if got := leftText(download.Progress{Left: c.left, Unknown: c.unknown}, c.rate); got != c.want {
			t.Errorf("%d bytes and %d files at %.0f B/s: %q, want %q", c.left, c.unknown, c.rate, got, c.want)
		}
	}
	p.Of, p.Name = -1, strings.Repeat("x", 200)
	if got := downloadText(p, 0); len([]rune(got)) > 80 || !strings.Contains(got, "…: 12 MiB · ") {
		t.Errorf("%q", got)
	}
}

// The speed of downloads is that of the last minute.
func TestDownloadRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, bytes := newDownloadLine(io.Discard), int64(0)
		run := func(seconds int, perSecond int64) (rate float64) {
			for range seconds * 5 {
				time.Sleep(200 * time.Millisecond)
				bytes += perSecond / 5
				rate = l.rate(bytes, time.Now())
			}
			return rate
		}
		for _, tt := range []struct {
			seconds   int
			perSecond int64
			want      float64
		}{{10, 1000, 1000}, {2700, 1000, 1000}, {30, 0, 500}, {61, 0, 0}, {120, 5000, 5000}} {
			if got := run(tt.seconds, tt.perSecond); math.Abs(got-tt.want) > 20 {
				t.Errorf("after %d seconds of %d bytes each: %.0f a second, want %.0f", tt.seconds, tt.perSecond, got, tt.want)
			}
		}
		bytes = 0
		if got := l.rate(bytes, time.Now()); got != 0 {
			t.Errorf("begun again: %.0f", got)
		}
	})
}

// Programs read the progress as objects, every five seconds.
func TestDownloadObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		l := newDownloadLine(io.Discard)
		l.inForm("json", io.Discard, func(v any) error {
			b, err := json.Marshal(v)
			lines = append(lines, string(b))
			return err
		})
		p := download.Progress{Files: 3, Left: 9000, Unknown: 2}
		for range 22 {
			time.Sleep(500 * time.Millisecond)
			p.Bytes, p.Left = p.Bytes+100, p.Left-100
			if len(lines) == 1 {
				p.Over = 1
			}
			l.progress(p)
		}
		want := `{"progress":{"files":3,"over":0,"bytes":1000,"bytes_per_second":200,"bytes_left":8000,"files_unsized":2,"seconds_left":40}}
{"progress":{"files":3,"over":1,"bytes":2000,"bytes_per_second":200,"bytes_left":7000,"files_unsized":2,"seconds_left":35}}`
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s,\nwant %s", got, want)
		}
	})
}
