package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report has the results.
type report struct {
	Date    time.Time     `json:"date"`
	Machine machine       `json:"machine"`
	Command string        `json:"command"`
	Hosts   int           `json:"hosts"`
	Pages   int           `json:"pagesOfAHost"`
	Cross   int           `json:"crossLinks"`
	Notes   []string      `json:"notes,omitempty"`
	Rows    []measuredRow `json:"rows"`
}

type measuredRow struct {
	Name   string   `json:"name"`
	Says   string   `json:"says"`
	Rounds []result `json:"rounds"`
}

func newReport(ctx context.Context, s settings, rows []row, notes []string) (*report, error) {
	r := &report{
		Date: time.Now().UTC(), Machine: thisMachine(ctx, s.machine), Command: "go run ./peers " + strings.Join(os.Args[1:], " "),
		Hosts: s.hosts, Pages: s.pages, Cross: s.cross, Notes: notes,
	}
	if len(rows) == 0 {
		return nil, errors.New("no row can be measured here: " + strings.Join(notes, "; "))
	}
	for _, one := range rows {
		r.Rows = append(r.Rows, measuredRow{Name: one.name, Says: one.about})
	}
	return r, nil
}

// A machine is quiet if its load was below quietLoad before, and if other processes used less than
// quietOthers of its cores while a crawl was measured.
const (
	quietLoad   = 0.5
	quietOthers = 0.1
)

// end measures the load again, and reports whether the machine was quiet.
func (r *report) end() {
	m := &r.Machine
	m.LoadEnd = load()
	if !m.Pinned {
		r.Notes = append(r.Notes, "web and crawler shared all cores: there is one only, or no taskset")
	}
	if m.LoadStart > quietLoad {
		r.Notes = append(r.Notes, fmt.Sprintf("NOT QUIET: the load was %.2f before the first crawl", m.LoadStart))
	}
	busy, crawls, most := 0, 0, 0.0
	for _, row := range r.Rows {
		for _, one := range row.Rounds {
			crawls++
			if one.Others > quietOthers {
				busy++
			}
			most = max(most, one.Others)
		}
	}
	if busy > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("NOT QUIET: beside %d of %d crawls others used more than %.1f of a core, %.2f at most", busy, crawls, quietOthers, most))
	}
}

// good returns the rounds without an error.
func (m *measuredRow) good() (out []result) {
	for _, r := range m.Rounds {
		if r.Error == "" {
			out = append(out, r)
		}
	}
	return out
}

// median returns the median of a figure of the good rounds; 0 if there are none.
func (m *measuredRow) median(of func(result) float64) float64 {
	var all []float64
	for _, r := range m.good() {
		all = append(all, of(r))
	}
	return median(all)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	switch n := len(s); {
	case n == 0:
		return 0
	case n%2 == 0:
		return (s[n/2-1] + s[n/2]) / 2
	default:
		return s[n/2]
	}
}

func cpu(r result) float64 { return r.CPU }

// row returns the row of that name, or nil.
func (r *report) row(name string) *measuredRow {
	for i := range r.Rows {
		if r.Rows[i].Name == name {
			return &r.Rows[i]
		}
	}
	return nil
}

// over are the rows to which others are compared, if they were measured.
var over = []string{"lean", "wget2", "stored"}

func (r *report) print(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%d hosts of %d pages, 18 KB and 43 links each, delay 0, loopback; medians of %d rounds in turns.\n\n",
		r.Hosts, r.Pages, len(r.Rows[0].Rounds))
	fmt.Fprintf(w, "%s, %s: %s, %d cores, %d GiB, %s, %s, commit %s, load %.2f at the start and %.2f at the end.\n`%s`\n\n",
		r.Date.Format("2006-01-02 15:04 UTC"), m.Name, m.Processor, m.Cores, m.MemoryGiB, m.System, m.Go, m.Commit, m.LoadStart, m.LoadEnd, strings.TrimSpace(r.Command))
	for _, n := range r.Notes {
		fmt.Fprintf(w, "- %s\n", n)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(w)
	}
	r.printTable(w)
	r.printParts(w)
	r.printAims(w)
	fmt.Fprintln(w)
	for _, row := range r.Rows {
		fmt.Fprintf(w, "- %s: %s\n", row.Name, row.Says)
		for i, one := range row.Rounds {
			if one.Error != "" {
				fmt.Fprintf(w, "  - round %d is NOT COUNTED: %s\n", i+1, one.Error)
			}
		}
	}
}

func (r *report) printTable(w io.Writer) {
	head := "| | µs of CPU a page |"
	var against []float64
	for _, name := range over {
		if row := r.row(name); row != nil {
			head += " ÷ " + name + " |"
			against = append(against, row.median(cpu))
		}
	}
	head += " rounds | seconds | pages a second | peak RSS, MB | MiB anonymous | MiB of files | pages | requests | the web's own µs |"
	fmt.Fprintf(w, "%s\n|---%s|\n", head, strings.Repeat("|---:", strings.Count(head, "|")-2))
	for i := range r.Rows {
		row := &r.Rows[i]
		all := row.good()
		if len(all) == 0 {
			fmt.Fprintf(w, "| %s | no good round |\n", row.Name)
			continue
		}
		own := row.median(cpu)
		fmt.Fprintf(w, "| %s | %.1f |", row.Name, own)
		for _, a := range against {
			if a == 0 {
				fmt.Fprint(w, " – |")
				continue
			}
			fmt.Fprintf(w, " %.2f |", own/a)
		}
		for _, one := range all {
			fmt.Fprintf(w, " %.0f", one.CPU)
		}
		wall := row.median(func(o result) float64 { return o.Wall })
		fmt.Fprintf(w, " | %.2f | %.0f | %.0f | %.0f | %.0f | %d | %.0f | %.1f |\n", wall, float64(all[0].Pages)/wall, row.median(peak),
			row.median(func(o result) float64 { return float64(o.Memory.Anonymous) / (1 << 20) }),
			row.median(func(o result) float64 { return float64(o.Memory.Files) / (1 << 20) }),
			all[0].Pages, row.median(func(o result) float64 { return float64(o.Requests) }),
			row.median(func(o result) float64 { return o.Server }))
	}
}

// printParts prints what the processes of rows with several processes cost.
func (r *report) printParts(w io.Writer) {
	for i := range r.Rows {
		row := &r.Rows[i]
		all := row.good()
		if len(all) == 0 || len(all[0].Parts) < 2 {
			continue
		}
		fmt.Fprintf(w, "\n%s, µs of CPU a page:", row.Name)
		for _, name := range slices.Sorted(maps.Keys(all[0].Parts)) {
			fmt.Fprintf(w, " %s %.1f", name, row.median(func(o result) float64 { return o.Parts[name] }))
		}
		if f := row.median(func(o result) float64 { return o.Parts["frontier"] }); f > 0 {
			fmt.Fprintf(w, "; a frontier with a core to itself could feed %.0f pages a second", 1e6/f)
		}
		fmt.Fprintln(w, ".")
	}
}

// write writes the results into two files, for people and for programs. Results of an earlier run
// on the same day are kept: a number is added to the name.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, r.Date.Format("2006-01-02")+"-"+slug(r.Machine.Name))
	name := base
	for i := 2; ; i++ {
		if _, err := os.Stat(name + ".json"); errors.Is(err, os.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprint(&text, "# What a page costs, beside other crawlers\n\n")
	r.print(&text)
	return errors.Join(os.WriteFile(name+".json", append(data, '\n'), 0o644), os.WriteFile(name+".md", []byte(text.String()), 0o644))
}
