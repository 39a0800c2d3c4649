package queryreport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/query"
)

func newReport(dir string) *Report { return New(dir, slog.New(slog.DiscardHandler)) }

// running runs a report for a time, and until it has written everything.
func running(t *testing.T, r *Report, d time.Duration, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	do()
	time.Sleep(d)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string, days int) []Query {
	t.Helper()
	all, err := Read(File(dir), days)
	if err != nil {
		t.Fatal(err)
	}
	return Select(all, Frequent)
}

func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		if _, err := Read(File(dir), 0); !errors.Is(err, ErrNone) {
			t.Fatalf("without a file: %v", err)
		}
		r := newReport(dir)
		running(t, r, time.Minute, func() {
			for range 3 {
				r.Asked("vacuum", 12, true)
			}
			r.Asked("vacum", 0, true)
			r.Asked("freeze", 7, true)
			r.Asked("freeze", 9, false)
			r.Opened("vacuum", "https://a.example/2", 2)
			time.Sleep(2 * writeEvery)
			r.Opened("vacuum", "https://a.example/1", 1)
			r.Opened("vacuum", "https://a.example/1", 1)
		})
		// Another process, a day later.
		time.Sleep(24 * time.Hour)
		other := newReport(dir)
		running(t, other, time.Second, func() {
			other.Asked("vacuum", 10, true)
			other.Opened("vacuum", "https://a.example/2", 3)
		})
		if r.Err() != nil || other.Err() != nil {
			t.Fatal(r.Err(), other.Err())
		}
		want := []Query{
			{"vacuum", "2000-01-02", 2, Counts{Asked: 4, Listed: 4, Total: 10, Opens: 4, Opened: []Opened{{"https://a.example/1", 1, 2}, {"https://a.example/2", 3, 2}}}},
			{"freeze", "2000-01-01", 1, Counts{Asked: 2, Listed: 1, Total: 9}},
			{"vacum", "2000-01-01", 1, Counts{Asked: 1, None: 1}},
		}
		all := read(t, dir, 2)
		if !reflect.DeepEqual(all, want) {
			t.Errorf("the report is\n %+v, want\n %+v", all, want)
		}
		names := func(all []Query) (s string) {
			for _, q := range all {
				s += q.Query + " "
			}
			return s
		}
		if got := names(Select(all, NoResults)) + "/ " + names(Select(all, NotOpened)); got != "vacum / freeze " {
			t.Errorf("without results / not opened: %s", got)
		}
		if today := read(t, dir, 1); len(today) != 1 || today[0].Asked != 1 {
			t.Errorf("of today: %+v", today)
		}
		info, err := os.Stat(File(dir))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has mode %v, %v", info.Mode(), err)
		}
	})
}

// TestCompletions: only queries that were asked three times, on two days, and have results are
// offered.
func TestCompletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReport(t.TempDir())
		running(t, r, time.Hour, func() {
			for range 4 {
				r.Asked("vacuum pasted", 1, true) // on one day
			}
			time.Sleep(20 * time.Hour)
			for i := range 4 {
				if i == 2 {
					time.Sleep(24 * time.Hour)
				}
				r.Asked("vacuum full", 1, true)
				r.Asked("vacant", 0, true)
				if i < 3 {
					r.Asked("vacuum", 1, false)
					r.Asked("freeze", 1, false)
				}
				if i < 2 {
					r.Asked("vacuum secret", 1, true)
				}
			}
		})
		for prefix, want := range map[string]string{"va": "vacuum full,vacuum", " VACUUM f": "vacuum full", "x": "", "": "vacuum full,freeze"} {
			if got := strings.Join(r.Completions(prefix, 2), ","); got != want {
				t.Errorf("%q is completed to %q, want %q", prefix, got, want)
			}
		}
	})
}

// TestLimits: at each limit, and one past it.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := newReport(dir)
		r.max = 20
		long := strings.Repeat("q", MaxQuery)
		running(t, r, time.Second, func() {
			r.Asked(long, 1, true)
			r.Asked(long, 1, true)
			r.Asked(long+"q", 1, true)
			r.Asked("", 1, true)
			for i := range MaxOpened + 1 {
				r.Opened(long, fmt.Sprint("https://a.example/", i), i+1)
			}
			r.Opened(long, "https://a.example/"+strings.Repeat("x", MaxURL), 1)
			for i := range 19 {
				r.Asked(fmt.Sprint("word", i), 1, true)
			}
		})
		all := read(t, dir, 0)
		if len(all) != 20 || all[0].Query != long || all[0].Asked != 2 || all[0].Opens != MaxOpened+2 || len(all[0].Opened) != MaxOpened {
			t.Fatalf("%d queries, first %+v", len(all), all[0])
		}
		running(t, r, time.Second, func() { r.Asked("one more", 1, true) })
		if all = read(t, dir, 0); len(all) != 18 || all[0].Query != long {
			t.Errorf("past the limit %d queries are left, first %+v", len(all), all[0])
		}
		time.Sleep((MaxDays - 1) * 24 * time.Hour)
		running(t, r, time.Second, func() { r.Asked("later", 1, true) })
		if all = read(t, dir, 0); len(all) != 19 {
			t.Errorf("on the last day %d queries are left", len(all))
		}
		time.Sleep(24 * time.Hour)
		running(t, r, time.Second, func() { r.Asked("later", 1, true) })
		if all = read(t, dir, 0); len(all) != 1 || all[0].Asked != 2 {
			t.Errorf("after %d days %+v is left", MaxDays, all)
		}
		for i := range maxPending + 1 {
			r.Asked(fmt.Sprint("pending", i), 1, true)
		}
		if len(r.pending) != maxPending {
			t.Errorf("%d queries are counted between two writes", len(r.pending))
		}
	})
}

// TestTrouble: a file that is damaged, locked or no file disturbs nothing, the report says what to
// do, and what was counted meanwhile is written as soon as it can be.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(File(dir), []byte(strings.Repeat("no bbolt ", 4000)), 0o600); err != nil {
			t.Fatal(err)
		}
		r := newReport(dir)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		r.Asked("vacuum", 1, true)
		time.Sleep(writeEvery + time.Second)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("a damaged file is reported as %v", err)
		}
		if _, err := Read(File(dir), 0); err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("a damaged file is read with %v", err)
		}
		r.Asked("vacuum", 2, true)
		if err := os.Remove(File(dir)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(writeEvery)
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		stop()
		<-done
		if all := read(t, dir, 0); len(all) != 1 || all[0].Asked != 2 || all[0].Total != 2 {
			t.Errorf("after the damage: %+v", all)
		}
		if err := errors.Join(os.Remove(File(dir)), os.Symlink("/dev/null", File(dir))); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(File(dir), 0); err == nil {
			t.Error("a link is followed")
		}
	})
}

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if n, err := Forget(File(dir), func(string) bool { return true }); n != 0 || err != nil {
			t.Errorf("without a file: %d, %v", n, err)
		}
		r := newReport(dir)
		running(t, r, time.Second, func() {
			r.Asked("vacuum", 1, true)
			r.Opened("vacuum", "https://a.example/1", 1)
			r.Opened("vacuum", "https://b.example/1", 2)
		})
		n, err := Forget(File(dir), func(url string) bool { return strings.HasPrefix(url, "https://a.example/") })
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := read(t, dir, 0)[0].Opened; !slices.Equal(got, []Opened{{"https://b.example/1", 2, 1}}) {
			t.Errorf("left: %+v", got)
		}
	})
}

func TestNormal(t *testing.T) {
	for typed, want := range map[string]string{
		"  Vacuum   FULL ": "vacuum full", `Vacuum NOT "In Full"`: `vacuum -"in full"`, "A OR B site:Docs.Example.org": "a OR b site:docs.example.org",
		"HEAD~1 git": "HEAD~1 git", "-a -b": "", "": "", strings.Repeat("x", MaxQuery): strings.Repeat("x", MaxQuery), strings.Repeat("x", MaxQuery+1): "",
	} {
		if got := Normal(query.Parse(typed)); got != want {
			t.Errorf("%q is recorded as %q, want %q", typed, got, want)
		}
	}
}
