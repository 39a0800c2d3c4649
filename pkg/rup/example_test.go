package rup_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
)

// log is a site's modification log.
type log []rup.Entry

func (l log) Changes(_ context.Context, since time.Time, yield func(rup.Entry) error) error {
	for _, e := range l {
		if !e.Date.Before(since) {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// A site and a robot.
func Example() {
	now := time.Date(2026, 1, 16, 12, 0, 0, 0, time.UTC)
	server, err := rup.NewServer(rup.ServerOptions{
		Info:  &rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Day, rup.Week}, MaxQuerySpan: rup.Span{N: 30, Unit: rup.Day}},
		Base:  "https://www.example.org/",
		Store: new(rup.MemoryStore),
		Index: log{
			{URL: "https://www.example.org/docs/a.html", Kind: rup.New, Date: now.Add(-24 * time.Hour)},
			{URL: "https://www.example.org/old.html", Kind: rup.Delete, Date: now},
		},
		Now: func() time.Time { return now },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	site := httptest.NewServer(server)
	defer site.Close()

	ctx := context.Background()
	robot := &rup.Client{CGI: site.URL + "/rup", UserAgent: "examplebot/1"}
	key, err := robot.Register(ctx, rup.Preferences{Email: "rup-7f3a@bot.example.com", Latency: rup.Latency{N: 1, Unit: rup.Week}})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := robot.Index(ctx, rup.Span{N: 2, Unit: rup.Day}, rup.Credentials{Email: "rup-7f3a@bot.example.com", Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range report.Entries {
		fmt.Println(e.Date.Format(time.DateOnly), e.Kind, e.URL)
	}
	// Output:
	// 2026-01-15 New https://www.example.org/docs/a.html
	// 2026-01-16 Delete https://www.example.org/old.html
}

func ExampleParseReport() {
	report, err := rup.ParseReport([]byte(`SequenceNumber: 12
URLBase: https://www.example.org/

New[2026-01-15]: docs/a.html, docs/b.html
Delete[2026-01-16]: https://www.example.com/elsewhere.html
-- 
The webmaster
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	site, _ := url.Parse("https://www.example.org/")
	fmt.Println("number", report.Sequence, "of the site we asked:", report.CheckSite(site) == nil)
	for _, e := range report.Entries {
		fmt.Println(e.Kind, e.URL)
	}
	for _, r := range report.Refused {
		fmt.Println("refused:", r.Path, "-", r.Reason)
	}
	for _, d := range report.Diagnostics {
		fmt.Printf("line %d: %s\n", d.Line, d.Reason)
	}
	// Output:
	// number 12 of the site we asked: true
	// New https://www.example.org/docs/a.html
	// New https://www.example.org/docs/b.html
	// refused: https://www.example.com/elsewhere.html - it is outside URLBase
	// line 6: not a New, Change or Delete line: skipped
	// line 7: not a New, Change or Delete line: skipped
}

// By the numbers a robot notices that a report was lost.
func ExampleState() {
	registered := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	terms := rup.Terms{Latency: rup.Latency{N: 1, Unit: rup.Week}, MaxQuerySpan: rup.Span{N: 30, Unit: rup.Day}}
	state := rup.NewState(registered)
	show := func(steps []rup.Step) {
		var todo []rup.Todo
		for _, s := range steps {
			todo = append(todo, s.Do)
		}
		fmt.Println(todo)
	}
	second := registered.AddDate(0, 0, 14)
	show(state.Report(second, terms, 2, second, false)) // the first report never arrives
	later := second.Add(time.Hour)
	show(state.Tick(later, terms))
	show(state.Answer(later, terms, 2))
	show(state.Indexed(later, terms))
	fmt.Println("last", state.Last, "missing", state.Missing)
	// Output:
	// [apply wait]
	// [ask wait]
	// [index wait]
	// [wait]
	// last 2 missing []
}
